//! Closed-class words of the languages in Latin script: articles, prepositions, pronouns, small verbs.
//!
//! Written by hand from grammars, not learnt from a corpus. A word of several lists speaks for each
//! of them a little; a word of one list alone decides.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The languages that have a list, in the order of their numbers.
pub(super) const LANGUAGES: [&str; 26] = [
    "pt", "es", "gl", "ca", "en", "fr", "it", "de", "nl", "ro", "da", "no", "sv", "fi", "pl", "cs",
    "sk", "hu", "hr", "sl", "tr", "id", "eu", "eo", "la", "vi",
];

/// A bit for each language whose list has the word (in lower case, accents kept).
pub(super) fn languages_of(word: &str) -> u32 {
    TABLE.get(word).copied().unwrap_or(0)
}

static TABLE: LazyLock<HashMap<&'static str, u32>> = LazyLock::new(|| {
    let mut table = HashMap::new();
    for (number, words) in LISTS.iter().enumerate() {
        for word in words.split_whitespace() {
            *table.entry(word).or_default() |= 1 << number;
        }
    }
    table
});

const LISTS: [&str; 26] = [
    // pt
    "o a os as um uma uns umas de do da dos das em no na nos nas num numa por pelo pela pelos pelas para com sem sob sobre entre até \
     ao à aos às e ou mas que se como quando quem qual quais onde porque pois não é são foi foram ser sido está estão estava era eram \
     será serão seria tem têm tinha ter há havia mais menos muito muita muitos muitas também já ainda só bem mesmo mesma \
     eu ele ela eles elas você vocês nós me lhe lhes meu minha seu sua seus suas nosso nossa isso isto esse essa este esta \
     aquele aquela deste desta desse dessa neste nesta nesse nessa disso nisso dele dela deles delas todo toda todos todas cada \
     outro outra outros outras qualquer então depois antes agora hoje sempre nunca pode podem deve fazer faz disse diz segundo \
     dia ano anos pessoa pessoas direito direitos governo ontem vai vão quê nem sim aqui ali duas dois três após durante desde contra",
    // es
    "el la los las lo un una unos unas de del al a en con sin por para sobre entre hasta desde y e o u ni pero sino que se si como cuando \
     quien quienes cual donde porque pues no es son fue fueron ser sido está están estaba era eran será serán sería tiene tienen tenía tener \
     ha han había hay más menos muy mucho mucha muchos muchas también ya aún todavía sólo bien mismo misma \
     yo él ella ellos ellas usted ustedes nosotros me te le les mi su sus nuestro nuestra eso esto ese esa este esta estos estas aquel aquella \
     todo toda todos todas cada otro otra otros otras cualquier entonces después antes ahora hoy siempre nunca puede pueden debe hacer hace dijo según \
     día año años persona personas derecho derechos gobierno ayer va van qué sí aquí allí dos tres tras durante contra cómo así",
    // gl
    "o a os as un unha uns unhas de do da dos das en no na nos nas nun nunha dun dunha por polo pola polos polas para con co coa cos coas sen so sobre entre ata \
     ao á aos ás ó ós e ou mais pero que se como cando quen cal cales onde porque pois non é son foi foron ser sido está están estaba era eran \
     será serán sería ten teñen tiña ter hai había máis menos moi moito moita moitos moitas tamén xa aínda só ben mesmo mesma \
     eu el ela eles elas vostede vostedes nós me lle lles meu miña seu súa seus súas noso nosa iso isto ese esa este esta \
     aquel aquela deste desta dese desa neste nesta nese nesa diso niso del dela deles delas todo toda todos todas cada \
     outro outra outros outras calquera calquer entón despois antes agora hoxe sempre nunca pode poden debe facer fai dixo segundo \
     día ano anos persoa persoas dereito dereitos goberno onte vai van nin si aquí alí dúas dous tres tras durante dende desde contra sexa sexan xeral xente lugar \
     ningunha ningún ninguén algún algunha alguén deica mentres tódolos tódalas fronte feito haxa teña teñan poida poidan",
    // ca
    "el la els les l un una uns unes de del dels d al als a en amb sense per sobre entre fins des i o ni però sinó que es si com quan \
     qui quin quina on perquè doncs no és són va van fou ser ésser estat està estan estava era eren serà seran seria té tenen tenia tenir \
     ha han havia hi més menys molt molta molts moltes també ja encara només bé mateix mateixa \
     jo ell ella ells elles vostè vostès nosaltres em et li els ens us meu meva seu seva seus seves nostre nostra això aquest aquesta aquests aquestes aquell aquella \
     tot tota tots totes tothom cada altre altra altres qualsevol llavors després abans ara avui sempre mai pot poden ha deu fer fa dir segons \
     dia any anys persona persones dret drets govern ahir què sí aquí allà dos dues tres durant contra així cap ho pel pels ningú",
    // en
    "the a an and or but of to in on at by for with from as is are was were be been being has have had do does did not no this that these those \
     it its he she they we you i his her their our your my which who what when where why how if than then so there here all any some each other \
     more most such only into over under after before about between through will would can could should may might must said new one two also",
    // fr
    "le la les l un une des de du d au aux à en dans par pour avec sans sous sur entre chez et ou mais ni car donc si que qu qui quoi dont où quand comme \
     est sont était étaient être été sera serait a ont avait avoir ne n pas plus moins très aussi encore déjà je j tu il elle on nous vous ils elles me te se s lui leur leurs \
     mon ma mes ton ta tes son sa ses notre nos votre vos ce c cet cette ces celui celle ceux cela tout toute tous toutes chaque autre autres même après avant peut fait faire dit selon",
    // it
    "il lo la i gli le l un uno una di del dello della dei degli delle a al allo alla ai agli alle da dal dalla dai dalle in nel nella nei nelle su sul sulla sui sulle con per tra fra senza \
     e ed o ma né se che chi cui quale quali quando dove come perché è sono era erano essere stato stata sia sarà ha hanno aveva avere ho non più meno molto anche ancora già solo sempre \
     io lui lei noi voi loro mi ti si ci vi ne mio mia suo sua suoi sue nostro nostra questo questa questi queste quello quella ciò tutto tutta tutti tutte ogni altro altri altre dopo prima può fatto fare gli dell nell all dall sull c d un'",
    // de
    "der die das den dem des ein eine einen einem einer eines kein keine und oder aber sondern denn weil wenn als ob dass wie wo wer was wann in im an am auf aus bei bis durch für gegen mit nach ohne über um unter von vom vor zu zum zur \
     ich du er sie es wir ihr mich sich uns mir ihm ihn ihnen mein sein seine seiner ihre ihrer unser dieser diese dieses jeder ist sind war waren wird werden wurde hat haben hatte kann können muss soll nicht nur auch noch schon sehr mehr so da dann hier man alle",
    // nl
    "de het een en of maar van in op te ten ter tot aan met voor door bij uit over onder naar om als dan dat die dit deze is zijn was waren wordt worden werd heeft hebben had kan kunnen moet zal zou niet geen ook nog al wel zeer meer \
     ik jij je hij zij ze wij we jullie u hun hem haar mijn zijn onze ons er hier daar wat wie waar hoe wanneer welke alle andere elk ieder eigen tegen tussen zonder na",
    // ro
    "și în de la cu pe din pentru că nu este sunt a fost au am ai o un unei unui ale al ai cel cea cei cele care ce cum când unde mai mult foarte sau dar dacă să se își îi îl le lui ei lor \
     prin după până între despre fără acest această aceste acestea acel toate toți tot orice fi era erau va vor poate trebuie asupra persoană dreptul dreptul sale său sa",
    // da
    "og i at det en den til er som på de med han af for ikke der var mig sig men et har om vi min havde ham hun nu over da fra du ud sin dem os op man hans hvor eller hvad skal selv her alle vil blev kunne ind når være dog noget ville jo deres efter ned skulle denne end dette mit også under have dig anden hende mine alt meget sit sine vor mod disse hvis din nogle hos blive mange ad bliver af hvert enhver uden ved",
    // no
    "og i det på som en er å til av for med at var de den har ikke om et men han jeg ble seg fra så vi ved da hun hadde over ut kan man også være nå blir mot skal vil eller opp bare når etter selv sin noe hvor alle denne dette disse enn hva sitt inn mye meg deg dere oss dem hvis hver enhver uten ikkje eg ein eit dei frå vere til berre kva noko skal korleis nokon",
    // sv
    "och i att det en som på är av för med till den har de inte om ett han men var jag sig från vi så kan när år säger hon under också efter eller nu sin där vid mot ska skulle kommer ut får finns vara hade alla andra mycket än här då sedan över bara in blir upp även vad få två vill ha många hur mer går sverige kunde detta dess denna dessa utan varje eller ej",
    // fi
    "ja on ei että se oli hän mutta ovat kun niin myös kuin tai jos mukaan sen joka jotka ole vain olla olisi ollut nyt sitä hänen kanssa mitä kaikki tämä tämän siitä vielä jo sekä eivät minä sinä me te he ne nämä jokaisella jonka jossa mikä kuka missä mutta koska siis ennen jälkeen kautta ilman kohti oikeus olen joita näin",
    // pl
    "i w z na do nie się jest to że o jak po za od przez dla ze co oraz ale czy są był było była być tym tego tej ich jego jej które który która których ma może można tylko tak także już jeszcze przy pod nad bez lub albo gdy jeśli ten ta te tych każdy człowiek prawo we u mnie mu by została został",
    // cs
    "a v na se je že z do s o i k ve pro jako to by si po od za jsou byl bylo byla být které který která kteří ale nebo jeho její jejich má není také jen už ještě při před mezi bez každý aby až tak když ze svých tento tato této však může podle proti právo podle roku může jsem kde co ji mu",
    // sk
    "a v na sa je že z do s o i k vo pre ako to by si po od za sú bol bolo bola byť ktoré ktorý ktorá ktorí ale alebo jeho jej ich má nie aj len už ešte pri pred medzi bez každý aby až tak keď zo svojich tento táto tejto však môže podľa proti právo roku som kde čo ju mu ktorej",
    // hu
    "a az és hogy nem is egy ez van volt meg de csak már még mint vagy ha el ki be fel le minden kell lehet azt ezt ami aki amely mert után között által szerint joga való saját nagy más több úgy így én te ő mi ti ők illetve pedig nélkül során sem",
    // hr
    "i u je na se da za su od s a o koji koja koje što kao ne iz po ili ali bi biti bio bila bilo će sam nije kod samo više već do te ima svoje njegov njihov prema sve svi svatko pravo ovaj ova ovo taj ta to kada kako gdje prije nakon bez između jer dok ako također ju ga mu",
    // sl
    "in v je na se da za so od z s ki ne iz po ali pa bi biti bil bila bilo bo sem ni pri samo več že do ima svoje njegov njihov vse vsi vsakdo pravica ta to ko kako kjer pred brez med ker če tudi kot lahko zelo kar tem jih ga mu še",
    // tr
    "ve bir bu da de için ile olarak çok daha gibi olan ne ama kadar var en sonra her o ise değil ya veya mi mı ki diye hakkı göre olduğu tarafından şey ben sen biz siz onlar onun bunun hiçbir bütün olup dolayı karşı",
    // id
    "yang dan di ke dari untuk dengan pada adalah ini itu dalam tidak akan oleh atau juga sebagai karena ada mereka dia ia kami kita saya anda telah sudah bisa dapat harus lebih setiap orang tersebut bahwa para seperti antara berhak hak lain",
    // eu
    "eta da ez bat ere dira du dute zuen ziren izan den dela dituen baina edo hori hau bere guztiak gizon oro orok eskubidea dago zen beste egin behar nahi izango dute baino gehiago bezala arte gabe ondoren",
    // eo
    "la kaj de en estas al ne por ke kun li ŝi ili mi vi ni oni ĝi pri el per sur kiel sed aŭ se plej pli tiu ĉi kiu kiuj kio ĉiu ĉiuj havas rajton sia siaj estis esti ankaŭ nur jam ankoraŭ inter sen post antaŭ ĉar kiam do tio",
    // la
    "et in est non ad cum ut ex ab quod sed qui quae quam esse sunt enim nec autem ac de per si aut hoc eius sua atque etiam ille omnes omnia ius erat fuit neque quo se sibi",
    // vi
    "và của là có không được trong cho một những các người với này để đã từ khi như về cũng tại ra đến hay bị sự quyền phải theo đó trên nhưng mọi",
];
