//! Word lists: the long table of data from which paths, titles and paragraphs are made.

/// First path segments.
pub(crate) const SECTIONS: [&str; 8] =
    ["noticias", "artigos", "arquivo", "guides", "research", "projects", "ensino", "library"];

/// Words in paths: plain ASCII.
pub(crate) const SLUGS: [&str; 32] = [
    "teia", "aranha", "rede", "fio", "ponte", "rio", "serra", "vento", "farol", "barco", "pedra", "campo",
    "cidade", "aldeia", "jardim", "escola", "river", "harbour", "garden", "forest", "meadow", "window",
    "market", "village", "castle", "mountain", "letter", "journey", "winter", "summer", "morning", "evening",
];

/// Portuguese phrases and words; the most frequent ones first.
pub(crate) const PORTUGUESE: [&str; 120] = [
    "de", "a", "o", "que", "e", "do", "da", "em", "um", "para", "com", "uma", "os", "no", "se", "na", "por",
    "mais", "as", "dos", "como", "mas", "ao", "das", "à", "seu", "sua", "ou", "quando", "muito", "nos", "já",
    "também", "só", "pelo", "pela", "até", "isso", "entre", "depois", "sem", "mesmo", "aos", "seus", "quem",
    "nas", "me", "esse", "está", "são", "foi", "ser", "ter", "há", "a recolha de documentos",
    "o arquivo da cidade", "a biblioteca nacional", "os investigadores da universidade", "páginas", "ligações",
    "servidor", "endereço", "coleção", "história", "memória", "informação", "conteúdo", "pesquisa", "palavras",
    "frequência", "atualização", "visita", "primeira vez", "no ano seguinte", "ao longo do tempo",
    "desde o início", "por outro lado", "de acordo com", "em cada uma das", "na maior parte dos casos",
    "um conjunto de", "o trabalho", "os resultados", "as pessoas", "a região", "o projeto", "a equipa",
    "o sistema", "a rede", "o jornal", "a praça", "o mercado", "a montanha", "o mar", "a ponte", "o rio",
    "as aldeias", "os caminhos", "a escola", "os alunos", "o museu", "a exposição", "o concerto", "a estação",
    "o comboio", "a manhã", "a noite", "o inverno", "o verão", "a chuva", "o vento", "a luz", "o jardim",
    "as árvores", "os pássaros", "a aranha", "o fio", "a teia", "a pedra", "o castelo",
];

/// English phrases and words; the most frequent ones first.
pub(crate) const ENGLISH: [&str; 120] = [
    "the", "of", "and", "to", "a", "in", "is", "was", "that", "for", "it", "with", "as", "his", "on", "be", "at",
    "by", "had", "not", "are", "but", "from", "or", "have", "an", "they", "which", "one", "you", "were", "her",
    "all", "she", "there", "would", "their", "we", "him", "been", "has", "when", "who", "will", "more", "no",
    "if", "out", "so", "said", "what", "up", "its", "about", "the collection of documents",
    "the archive of the city", "the national library", "researchers at the university", "pages", "links",
    "server", "address", "gathering", "history", "memory", "information", "content", "search", "words",
    "frequency", "update", "visit", "the first time", "in the following year", "over the course of time",
    "from the beginning", "on the other hand", "according to", "in each of the", "in most cases", "a set of",
    "the work", "the results", "the people", "the region", "the project", "the team", "the system",
    "the network", "the newspaper", "the square", "the market", "the mountain", "the sea", "the bridge",
    "the river", "the villages", "the roads", "the school", "the students", "the museum", "the exhibition",
    "the concert", "the station", "the train", "the morning", "the night", "the winter", "the summer",
    "the rain", "the wind", "the light", "the garden", "the trees", "the birds", "the spider", "the thread",
    "the web", "the stone", "the castle",
];
