//! A stream of links like a crawl's, the same in every run, that knows which of them are new.
//!
//! Every URL is a function of its host and a number below that host's counter, so the generator
//! needs no set: a number met for the first time is new, any lower one is old. Hosts follow a power
//! law (the largest has about one URL in a hundred); links come in the runs of pages, mostly within
//! the page's host; a third of the links to old URLs are navigation.

use xxhash_rust::xxh3::xxh3_64;

/// Links of one cycle, one text after another.
#[derive(Default)]
pub(crate) struct Cycle {
    texts: String,
    ends: Vec<u32>,
}

impl Cycle {
    pub(crate) fn clear(&mut self) {
        self.texts.clear();
        self.ends.clear();
    }

    fn close(&mut self) {
        self.ends.push(u32::try_from(self.texts.len()).unwrap());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let text = &self.texts[start..end as usize];
            start = end as usize;
            text
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.texts.len() + self.ends.len() * 4
    }
}

/// Numbers from a seed.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

pub(crate) struct Generator {
    draw: Draw,
    /// For the hosts of windows, so that the links do not depend on them.
    hosts_draw: Draw,
    /// URLs of each host so far.
    hosts: Vec<u32>,
    /// URLs so far, and a sum over all their hashes.
    pub(crate) distinct: u64,
    pub(crate) checksum: u64,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            draw: Draw(seed),
            hosts_draw: Draw(seed + 1),
            hosts: Vec::new(),
            distinct: 0,
            checksum: 0,
        }
    }

    /// Everything that decides what it makes next.
    pub(crate) fn save(&self) -> (Vec<u64>, &[u32]) {
        let numbers = vec![self.draw.0, self.hosts_draw.0, self.distinct, self.checksum];
        (numbers, &self.hosts)
    }

    /// One that goes on where another one was saved.
    pub(crate) fn load(numbers: &[u64], hosts: Vec<u32>) -> Self {
        Self {
            draw: Draw(numbers[0]),
            hosts_draw: Draw(numbers[1]),
            hosts,
            distinct: numbers[2],
            checksum: numbers[3],
        }
    }

    pub(crate) fn hosts(&self) -> usize {
        self.hosts.iter().filter(|urls| **urls > 0).count()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.hosts.len() * 4
    }

    fn any_host(&mut self) -> usize {
        let hosts = 1000 + self.distinct / 100;
        let unit = (self.draw.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (unit * unit * unit * hosts as f64) as usize
    }

    /// Links that are all new.
    pub(crate) fn fill(&mut self, links: usize, cycle: &mut Cycle) {
        cycle.clear();
        while cycle.len() < links {
            let host = self.any_host();
            let run = 1 + self.draw.below(30);
            for _ in 0..run.min((links - cycle.len()) as u64) {
                self.push_new(host, cycle);
            }
        }
    }

    /// Links of which about a quarter are new.
    pub(crate) fn crawl(&mut self, links: usize, cycle: &mut Cycle) {
        cycle.clear();
        while cycle.len() < links {
            let page = self.any_host();
            let run = 5 + self.draw.below(40);
            for _ in 0..run.min((links - cycle.len()) as u64) {
                let host = if self.draw.below(5) == 0 {
                    self.any_host()
                } else {
                    page
                };
                if self.draw.below(4) == 0 {
                    self.push_new(host, cycle);
                } else {
                    self.push_old(host, cycle);
                }
            }
        }
    }

    /// URLs met before, for stores that have no windows.
    pub(crate) fn old(&mut self, urls: usize, cycle: &mut Cycle) {
        cycle.clear();
        while cycle.len() < urls {
            let host = self.any_host();
            self.push_old(host, cycle);
        }
    }

    /// The name of a host that has URLs.
    pub(crate) fn some_host(&mut self) -> String {
        loop {
            std::mem::swap(&mut self.draw, &mut self.hosts_draw);
            let host = self.any_host();
            std::mem::swap(&mut self.draw, &mut self.hosts_draw);
            if self.hosts.get(host).copied().unwrap_or(0) > 0 {
                let mut name = String::new();
                host_name(host as u64, &mut name);
                return name;
            }
        }
    }

    fn push_new(&mut self, host: usize, cycle: &mut Cycle) {
        if self.hosts.len() <= host {
            self.hosts.resize(host + 1 + host / 8, 0);
        }
        let start = cycle.texts.len();
        url(host as u64, u64::from(self.hosts[host]), &mut cycle.texts);
        self.hosts[host] += 1;
        self.distinct += 1;
        self.checksum = self
            .checksum
            .wrapping_add(xxh3_64(&cycle.texts.as_bytes()[start..]));
        cycle.close();
    }

    fn push_old(&mut self, host: usize, cycle: &mut Cycle) {
        let urls = u64::from(self.hosts.get(host).copied().unwrap_or(0));
        if urls == 0 {
            return;
        }
        let number = if self.draw.below(3) == 0 {
            self.draw.below(urls.min(16))
        } else {
            self.draw.below(urls)
        };
        url(host as u64, number, &mut cycle.texts);
        cycle.close();
    }
}

const SYLLABLES: [&str; 32] = [
    "ba", "co", "da", "fe", "ga", "lo", "ma", "ne", "pa", "ri", "sa", "to", "va", "xi", "ze",
    "mar", "sol", "lis", "por", "car", "tel", "net", "web", "casa", "livro", "jor", "nal", "bra",
    "sil", "gal", "luz", "rio",
];

const WORDS: [&str; 64] = [
    "noticias",
    "sobre",
    "cidade",
    "governo",
    "nova",
    "mercado",
    "como",
    "fazer",
    "receita",
    "bolo",
    "jogo",
    "final",
    "campeonato",
    "guia",
    "viagem",
    "praia",
    "hotel",
    "barato",
    "carro",
    "usado",
    "preco",
    "comprar",
    "online",
    "curso",
    "gratis",
    "universidade",
    "estudo",
    "saude",
    "medico",
    "clima",
    "chuva",
    "festival",
    "musica",
    "cinema",
    "estreia",
    "entrevista",
    "presidente",
    "lei",
    "economia",
    "bolsa",
    "dolar",
    "empresa",
    "trabalho",
    "vaga",
    "concurso",
    "resultado",
    "fotos",
    "video",
    "historia",
    "arte",
    "museu",
    "livro",
    "autor",
    "poema",
    "escola",
    "infantil",
    "jardim",
    "casa",
    "decoracao",
    "moda",
    "vestido",
    "sapato",
    "celular",
    "teste",
];

const SECTIONS: [&str; 16] = [
    "noticias",
    "blog",
    "produto",
    "artigo",
    "forum/topico",
    "wiki",
    "categoria/geral",
    "loja/item",
    "eventos",
    "galeria",
    "perfil",
    "docs",
    "tag",
    "arquivo",
    "en/news",
    "pt/conteudo",
];

const TLDS: [&str; 8] = [
    ".com", ".pt", ".com.br", ".org", ".net", ".gal", ".eu", ".info",
];

fn pick<'a, const N: usize>(list: &[&'a str; N], number: u64) -> &'a str {
    list[(number % N as u64) as usize]
}

fn host_name(host: u64, out: &mut String) {
    let number = mix(host.wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ 77);
    if number & 3 != 0 {
        out.push_str("www.");
    }
    for part in 0..2 + (number >> 2 & 1) {
        out.push_str(pick(&SYLLABLES, number >> (8 + 6 * part)));
    }
    base36(host, out);
    out.push_str(pick(&TLDS, number >> 40));
}

/// The URL of a host with a number: no other host and number has the same.
fn url(host: u64, number: u64, out: &mut String) {
    let of_host = mix(host ^ 0x5555);
    let own = mix((host << 32 | number) ^ 0xABCD_EF01);
    out.push_str(if of_host & 7 == 0 {
        "http://"
    } else {
        "https://"
    });
    host_name(host, out);
    out.push('/');
    // A site has a few kinds of address; an item lies in a section, under a date or a group.
    out.push_str(pick(&SECTIONS, (of_host >> 8) + own % 3));
    out.push('/');
    match of_host >> 4 & 3 {
        0 => {
            decimal(2008 + (own >> 8) % 18, out);
            out.push('/');
            decimal(10 + (own >> 16) % 12, out);
            out.push('/');
            words(own >> 20, 3 + own % 4, out);
            out.push('-');
            base36(number, out);
            out.push_str(".html");
        }
        1 => {
            out.push_str(pick(&WORDS, own >> 9));
            out.push('/');
            words(own >> 20, 2 + own % 3, out);
            out.push('/');
            decimal(100_000 + number, out);
            out.push('/');
        }
        2 => {
            out.push_str("view.php?id=");
            decimal(10_000 + number, out);
            out.push_str("&cat=");
            out.push_str(pick(&WORDS, own >> 9));
            out.push_str("&lang=pt&page=");
            decimal((own >> 20) % 40, out);
        }
        _ => {
            words(own >> 12, 4 + own % 3, out);
            out.push('-');
            decimal(number, out);
        }
    }
}

fn words(mut number: u64, count: u64, out: &mut String) {
    for word in 0..count {
        if word > 0 {
            out.push('-');
        }
        out.push_str(pick(&WORDS, number));
        number >>= 6;
    }
}

fn decimal(number: u64, out: &mut String) {
    let mut digits = [0_u8; 20];
    let mut at = 20;
    let mut left = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap());
}

fn base36(mut number: u64, out: &mut String) {
    loop {
        out.push(char::from(
            b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize],
        ));
        number /= 36;
        if number == 0 {
            break;
        }
    }
}
