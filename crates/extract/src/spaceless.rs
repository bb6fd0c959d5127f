//! Near-duplicate signatures for scripts that put no spaces between words: Chinese, Japanese, Thai,
//! Lao, Khmer, Burmese, Tibetan.
//!
//! Their texts are shingled by letters instead of words; other texts are left to [`digest`].

use xxhash_rust::xxh3::xxh3_64;

use crate::digest;

/// Letters of one shingle: more than a word, so that other pages with the same words are not alike.
const SHINGLE: usize = 3;

/// Texts with fewer letters have no signature: chance alone would make them alike.
pub const MIN_LETTERS: usize = 100;

/// Both signatures of a text in whatever script: [`digest::text_digest`], and a near-duplicate
/// signature, zero where there is too little text.
pub fn signatures(text: &str) -> (u128, u64) {
    let (digest, by_words) = digest::signatures(text);
    let similarity = if is_spaceless(text) {
        by_letters(text)
    } else {
        by_words
    };
    (digest, similarity)
}

/// Whether most letters are of a script that puts no spaces between words.
fn is_spaceless(text: &str) -> bool {
    // A look at the bytes is enough for nearly all other texts: the scripts all take three or four.
    let long = |byte: &&u8| **byte >= 0xe0;
    if text.as_bytes().iter().filter(long).count() * 5 < text.len() {
        return false;
    }
    let (mut spaceless, mut others) = (0_usize, 0_usize);
    for letter in letters(text) {
        if is_spaceless_letter(letter) {
            spaceless += 1;
        } else {
            others += 1;
        }
    }
    spaceless > others
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| c.is_alphanumeric())
}

fn is_spaceless_letter(c: char) -> bool {
    matches!(
        u32::from(c),
        0x0e00..=0x0fff        // Thai, Lao, Tibetan
        | 0x1000..=0x109f      // Burmese
        | 0x1780..=0x17ff      // Khmer
        | 0x3005..=0x3007      // ideographic repetition, closing and zero marks
        | 0x3040..=0x30ff      // Hiragana, Katakana
        | 0x31f0..=0x31ff      // Katakana of Ainu
        | 0x3400..=0x4dbf      // Han
        | 0x4e00..=0x9fff
        | 0xf900..=0xfaff
        | 0xff66..=0xff9f      // Katakana of half width
        | 0x2_0000..=0x3_ffff  // Han, rare
    )
}

/// A 64-bit simhash over shingles of letters; case, punctuation and white space do not count.
fn by_letters(text: &str) -> u64 {
    let mut votes = [0_i32; 64];
    let mut shingle = [0_u8; 4 * SHINGLE];
    let mut count = 0;
    for letter in letters(text) {
        let small = letter.to_lowercase().next().unwrap_or(letter);
        shingle.copy_within(4.., 0);
        shingle[4 * (SHINGLE - 1)..].copy_from_slice(&u32::from(small).to_le_bytes());
        count += 1;
        if count >= SHINGLE {
            let hash = xxh3_64(&shingle);
            for (bit, vote) in votes.iter_mut().enumerate() {
                *vote += if hash >> bit & 1 == 1 { 1 } else { -1 };
            }
        }
    }
    if count < MIN_LETTERS {
        return 0;
    }
    let bits = votes.iter().enumerate();
    let majority = bits.fold(0, |bits, (bit, vote)| bits | u64::from(*vote > 0) << bit);
    majority.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use digest::distance;

    const BIRDS: &str = "日本の野鳥は季節によって種類が大きく変わる。春になると南の国から燕が渡ってきて、人家の軒先に巣を作り、\
        夏のあいだに二度か三度ひなを育てる。秋には北の大地から白鳥や鴨の群れが湖に降り、氷が張るまで静かに過ごす。\
        山の森では一年を通して四十雀や啄木鳥の声が聞こえ、雪の朝には餌台に小さな足跡が残る。\
        観察を始めるなら双眼鏡と図鑑を持って、まず近くの公園の池を歩いてみるとよい。";
    const TRAINS: &str = "鉄道の旅で楽しいのは、窓の外の景色がゆっくりと変わっていくことである。都会の駅を出た列車は工場の並ぶ海沿いを走り、\
        やがて長いトンネルを抜けて山あいの小さな町に着く。ホームでは駅員が帽子を取って挨拶し、弁当売りの声が響く。\
        昔の蒸気機関車は石炭を燃やして力強く坂を登ったが、いまは電車が静かに同じ線路をたどる。\
        切符を一枚買って終点まで行けば、そこには温泉と古い宿が待っている。";
    const THAI: &str = "ประเทศไทยมีนกมากกว่าเก้าร้อยชนิดซึ่งอาศัยอยู่ในป่าดิบเขาและพื้นที่ชุ่มน้ำตลอดทั้งปีในฤดูหนาวนกอพยพจำนวนมากบินมาจากทางเหนือเพื่อหาอาหารในทุ่งนาและชายทะเล\
        นักดูนกมักเดินทางไปที่ดอยอินทนนท์และอุทยานแห่งชาติเขาใหญ่ในตอนเช้าตรู่เพราะเป็นเวลาที่นกส่งเสียงร้องมากที่สุด";
    const THAI_FOOD: &str = "อาหารไทยขึ้นชื่อเรื่องรสชาติที่จัดจ้านทั้งเปรี้ยวหวานเค็มและเผ็ดในจานเดียวกันแม่ครัวมักเริ่มจากการโขลกพริกกระเทียมและรากผักชีในครกหิน\
        จากนั้นจึงผัดกับกะทิให้หอมแล้วใส่เนื้อสัตว์หรือผักตามชอบตลาดเช้าทุกแห่งมีแผงขายแกงและข้าวเหนียวให้ผู้คนซื้อกลับบ้าน";

    fn near(a: &str, b: &str) -> u32 {
        distance(signatures(a).1, signatures(b).1)
    }

    /// Some two thousand letters: those of a text, in other orders after each other.
    fn long(text: &str) -> String {
        let letters: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
        let count = letters.len();
        let order = |stride: usize| (0..count).map(move |at| at * stride % count);
        let orders = (1..13).flat_map(order);
        orders.map(|at| letters[at]).collect()
    }

    #[test]
    fn nearly_equal_pages_are_near_and_others_are_not() {
        for (page, other) in [(BIRDS, TRAINS), (THAI, THAI_FOOD)] {
            assert!(near(page, other) > 10, "{}", near(page, other));
            // As long as pages are, and with a date that changes.
            let (page, other) = (long(page), long(other));
            let today = format!("二〇二六年三月一日 {page}");
            let later = format!("二〇二六年四月九日 {page}");
            assert!(near(&today, &later) <= 3, "{}", near(&today, &later));
            assert!(near(&page, &other) > 10, "{}", near(&page, &other));
        }
    }

    #[test]
    fn white_space_punctuation_and_case_do_not_count() {
        let other = BIRDS.replace('。', " !\n").replace('、', "　");
        assert_eq!(near(BIRDS, &other), 0);
        let latin = format!("NHK {BIRDS}");
        assert_eq!(near(&latin, &latin.to_lowercase()), 0);
    }

    #[test]
    fn texts_with_spaces_keep_the_signature_of_their_words() {
        let english = "Owls hunt by night and sleep by day in hollow trees. ".repeat(9);
        let korean = "새들은 봄이 되면 남쪽에서 날아와 집을 짓고 알을 낳는다 ".repeat(9);
        let mixed = format!("{english} 日本語の本 {english}");
        for text in [
            english,
            korean,
            mixed,
            "Ação e coração, sempre. ".repeat(20),
        ] {
            assert_eq!(signatures(&text), digest::signatures(&text));
            assert_ne!(signatures(&text).1, 0);
        }
    }

    #[test]
    fn short_texts_have_no_signature() {
        let short: String = BIRDS.chars().filter(|c| c.is_alphanumeric()).collect();
        let short: String = short.chars().take(MIN_LETTERS - 1).collect();
        assert_eq!(signatures(&short).1, 0);
        assert_ne!(signatures(&format!("{short}鳥")).1, 0);
        assert_eq!(signatures(""), digest::signatures(""));
    }
}
