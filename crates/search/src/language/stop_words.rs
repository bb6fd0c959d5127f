//! Words that carry no topic: a table for each stemmed language, kept without accents.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::text::fold;

/// Whether a folded word is a stop word of the language. Unknown languages have none.
pub(crate) fn is_stop_word(language: &str, folded: &str) -> bool {
    TABLE
        .get(language)
        .is_some_and(|table| table.contains(folded))
}

/// Whether a folded word only frames a question: a stop word, or one of "show me", "gostaria de".
pub(crate) fn is_query_stop_word(language: &str, folded: &str) -> bool {
    is_stop_word(language, folded)
        || FRAMES
            .get(language)
            .is_some_and(|table| table.contains(folded))
}

static TABLE: LazyLock<HashMap<&'static str, HashSet<String>>> = LazyLock::new(|| table(&STOP));
static FRAMES: LazyLock<HashMap<&'static str, HashSet<String>>> = LazyLock::new(|| table(&FRAME));

fn table(lists: &[(&'static str, &'static str)]) -> HashMap<&'static str, HashSet<String>> {
    lists
        .iter()
        .map(|&(language, words)| (language, words.split_whitespace().map(fold).collect()))
        .collect()
}

const FRAME: [(&str, &str); 6] = [
    (
        "pt",
        "existe existem haveria gostaria saber diga mostre explique favor poderia possível",
    ),
    (
        "en",
        "anyone find show tell give please explain know available exist exists possible obtained done made",
    ),
    (
        "es",
        "existe existen quisiera saber diga muestre explique favor podría posible",
    ),
    (
        "fr",
        "existe savoir dites montrez expliquez voudrais pourrait possible",
    ),
    ("de", "gibt zeige erkläre bitte möchte wissen möglich"),
    (
        "it",
        "esiste esistono vorrei sapere mostra spiega favore potrebbe possibile",
    ),
];

const STOP: [(&str, &str); 6] = [
    (
        "pt",
        "a à ao aos às as o os um uma uns umas de do da dos das em no na nos nas num numa nuns numas \
        por pelo pela pelos pelas para pra com sem sob sobre entre até após ante perante desde contra \
        e ou mas nem que se porque porquê pois porém contudo embora logo como quando enquanto onde aonde donde \
        quem qual quais cujo cuja cujos cujas quanto quanta quantos quantas \
        eu tu ele ela nós vós eles elas você vocês me mim te ti lhe lhes nos vos o a se si consigo comigo contigo conosco \
        meu minha meus minhas teu tua teus tuas seu sua seus suas nosso nossa nossos nossas vosso vossa vossos vossas \
        dele dela deles delas este esta estes estas isto esse essa esses essas isso aquele aquela aqueles aquelas aquilo \
        deste desta destes destas disto desse dessa desses dessas disso daquele daquela daqueles daquelas daquilo \
        neste nesta nestes nestas nisto nesse nessa nesses nessas nisso naquele naquela naqueles naquelas naquilo àquele àquela \
        é são era eram foi foram ser sido sendo seja sejam fosse fossem será serão seria seriam somos sou fui \
        está estão estava estavam esteve estiveram estar estado esteja estejam estou estamos \
        tem têm tinha tinham teve tiveram ter tido tendo tenha tenham tivesse terá terão teria teriam temos tenho \
        há havia houve haver haja hajam houvesse haverá vai vão ir pode podem poder deve devem \
        não sim já ainda também só muito muita muitos muitas mais menos tão tanto quase apenas bem mal \
        aqui ali lá então assim depois antes agora sempre nunca mesmo mesma mesmos mesmas outro outra outros outras \
        todo toda todos todas cada qualquer quaisquer algum alguma alguns algumas nenhum nenhuma tal tais",
    ),
    (
        "en",
        "a an the and or but nor if of at by for with about against between into through during before after above below \
        to from up down in out on off over under again further then once here there when where why how which who whom whose what \
        this that these those i me my myself we our ours ourselves you your yours yourself he him his himself she her hers herself \
        it its itself they them their theirs themselves am is are was were be been being have has had having do does did doing done \
        can could may might must shall should will would ought cannot not no only own same so than too very just also any all both \
        each few more most other some such as because until while upon within without whether either neither yet however \
        don t s d ll m re ve y isn aren wasn weren hasn haven hadn doesn didn won wouldn shan shouldn couldn mustn",
    ),
    (
        "es",
        "el la los las lo un una unos unas de del al a en con sin por para sobre entre hasta desde hacia contra según ante bajo tras durante mediante \
        y e o u ni pero mas sino aunque porque pues que si como cuando mientras donde adonde quien quienes cual cuales cuyo cuya cuyos cuyas \
        cuánto cuánta cuántos cuántas cuanto cuanta cuantos cuantas qué quién cuál dónde cómo cuándo \
        yo tú él ella ello nosotros nosotras vosotros ellos ellas usted ustedes me te se nos os le les mí ti sí conmigo contigo consigo \
        mi mis tu tus su sus mío mía míos mías tuyo tuya suyo suya suyos suyas nuestro nuestra nuestros nuestras vuestro vuestra \
        este esta estos estas esto ese esa esos esas eso aquel aquella aquellos aquellas aquello \
        es son era eran fue fueron ser sido siendo sea sean fuera fuese será serán sería serían soy somos \
        está están estaba estaban estuvo estuvieron estar estado esté estén estoy estamos \
        ha han había habían hubo haber habido haya hayan hay habrá habría he hemos tiene tienen tenía tenían tuvo tener tenga tengan \
        no ya aún todavía también tampoco sólo solo muy mucho mucha muchos muchas más menos tan tanto poco poca pocos pocas \
        aquí allí allá entonces así después antes ahora siempre nunca mismo misma mismos mismas otro otra otros otras \
        todo toda todos todas cada cualquier algún alguna algunos algunas ningún ninguna algo nada tal tales va van puede pueden debe deben",
    ),
    (
        "fr",
        "le la les l un une des de du d au aux à en dans par pour avec sans sous sur entre jusque vers chez contre depuis pendant selon \
        et ou mais ni car donc or si que qu qui quoi dont où quand comme lorsque puisque parce combien comment pourquoi \
        quel quelle quels quelles lequel laquelle lesquels lesquelles \
        je j tu il elle on nous vous ils elles me m te t se s lui leur leurs y moi toi soi eux \
        mon ma mes ton ta tes son sa ses notre nos votre vos ce c cet cette ces celui celle ceux celles ceci cela ça \
        est sont était étaient fut furent être été étant soit soient fût sera seront serait seraient suis es sommes êtes \
        a ont avait avaient eut avoir eu ayant ait aient aura auront aurait ai as avons avez \
        ne n pas plus moins très trop peu aussi encore déjà toujours jamais même mêmes autre autres tout toute tous toutes \
        chaque quelque quelques aucun aucune tel telle tels telles ici là alors ainsi après avant maintenant bien fait faire peut peuvent doit doivent",
    ),
    (
        "de",
        "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner und oder aber doch sondern denn weil \
        wenn als ob dass daß wie wo wer wen wem wessen was wann warum wieso weshalb woher wohin welche welcher welches welchen welchem \
        in im ins an am ans auf aus bei beim bis durch für gegen hinter mit nach neben ohne über um unter von vom vor zu zum zur zwischen während wegen seit \
        ich du er sie es wir ihr mich dich sich uns euch mir dir ihm ihn ihnen mein meine meinen meinem meiner dein deine sein seine seinen seinem seiner seines \
        ihre ihren ihrem ihrer ihres unser unsere unseren unserem euer eure dieser diese dieses diesen diesem jener jene jenes jenen jenem \
        ist sind war waren sein gewesen bin bist seid wäre wären werden wird wurde wurden worden geworden würde würden \
        hat haben hatte hatten gehabt habe hätte kann können konnte könnte muss müssen soll sollen sollte will wollen darf dürfen mag \
        nicht nur auch noch schon sehr mehr so da dann dort hier nun jetzt immer wieder man selbst alle allem allen aller alles \
        andere anderen anderer anderes einige einigen jede jeder jedes jeden jedem manche viel viele solche nichts etwas",
    ),
    (
        "it",
        "il lo la i gli le l un uno una di del dello della dei degli delle d a al allo alla ai agli alle da dal dallo dalla dai dagli dalle \
        in nel nello nella nei negli nelle su sul sullo sulla sui sugli sulle con col coi per tra fra senza sotto sopra verso contro durante secondo \
        e ed o od ma né se che chi cui quale quali quanto quanta quanti quante quando dove come perché mentre \
        io tu egli lui lei essa noi voi essi esse loro mi ti si ci vi ne me te sé \
        mio mia miei mie tuo tua tuoi tue suo sua suoi sue nostro nostra nostri nostre vostro vostra vostri vostre \
        questo questa questi queste quello quella quelli quelle quel quei ciò \
        è sono era erano fu furono essere stato stata stati state sia siano fosse fossero sarà saranno sarebbe sei siamo siete \
        ha hanno aveva avevano ebbe avere avuto abbia abbiano avrà ho hai abbiamo avete \
        non più meno molto molta molti molte poco anche ancora già solo sempre mai stesso stessa stessi stesse altro altra altri altre \
        tutto tutta tutti tutte ogni qualche alcuni alcune nessuno nessuna tale tali qui qua là così dopo prima ora allora può possono deve devono fa fare cosa",
    ),
];

#[cfg(test)]
mod tests {
    use super::{is_query_stop_word, is_stop_word};

    #[test]
    fn stop_words_are_known_without_their_accents() {
        assert!(is_stop_word("pt", "nao"));
        assert!(is_stop_word("de", "uber"));
        assert!(!is_stop_word("en", "nao"));
        assert!(!is_stop_word("xx", "the"));
        assert!(is_query_stop_word("pt", "existe"));
    }
}
