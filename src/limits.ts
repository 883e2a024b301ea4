/**
 * Lists every limit on what comes from outside, in one place. A limit keeps one answer, one person or one name from
 * taking the time, memory or disk that everything else needs. `src/observe/README.md` shows this table.
 */

interface Limit {
  /** The most that is accepted. */
  readonly most: number;
  readonly unit:
    | 'bytes'
    | 'characters'
    | 'items'
    | 'values'
    | 'connections'
    | 'instructions'
    | 'milliseconds';
  /** What the limit applies to. */
  readonly of: string;
  /** Why there is a limit, and why this one. */
  readonly reason: string;
  /** What happens beyond the limit. */
  readonly beyond: string;
  /** Whether `nestwatch_limit_reached_total{limit}` counts each time it is reached. */
  readonly counted: boolean;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const LIMITS = {
  configuration_bytes: {
    most: 4 * MIB,
    unit: 'bytes',
    of: 'the configuration file, and each file of declared Birds',
    reason:
      'Reading it takes some seconds per MiB, during which nothing else runs. 1,000 routes have 200 KiB.',
    beyond: 'It is refused; the previous configuration stays in force.',
    counted: false,
  },
  configuration_values: {
    most: 100_000,
    unit: 'values',
    of: 'each of these files: entries of its maps and lists, and brackets',
    reason:
      'Each takes memory and time to parse, during which nothing else runs. 1,000 routes have about 20,000, 10,000 Birds about 80,000.',
    beyond: 'As for `configuration_bytes`.',
    counted: false,
  },
  configuration_mistakes: {
    most: 100,
    unit: 'items',
    of: 'mistakes in the configuration, or warnings about it',
    reason: 'Nobody reads more at once, and finding them takes time.',
    beyond: 'Further ones are not looked for.',
    counted: false,
  },
  answer_bytes: {
    most: 16 * MIB,
    unit: 'bytes',
    of: 'one list of Nests, Birds or Users, decompressed',
    reason: 'An answer is held as a whole while it is read; 10,000 Birds have about 1.5 MB.',
    beyond: 'The connection is closed, and the inventory stays as it was.',
    counted: true,
  },
  page_bytes: {
    most: 8 * MIB,
    unit: 'bytes',
    of: 'any other answer of the service, decompressed',
    reason: 'A page of 100 entries has about 50 kB.',
    beyond: 'The connection is closed, and smaller pages or shorter time windows are requested.',
    counted: true,
  },
  bytes_in_flight: {
    most: 32 * MIB,
    unit: 'bytes',
    of: 'all answers of one region that are being received or read',
    reason: 'Eight large answers at once would take most of a small heap.',
    beyond: 'The answers that came last continue when there is room again.',
    counted: true,
  },
  inventory_items: {
    most: 50_000,
    unit: 'items',
    of: 'one list of Nests, Birds or Users',
    reason: 'Several times as many as anybody watches; the service returns these lists as a whole.',
    beyond: 'The list is refused unread, and the inventory stays as it was.',
    counted: true,
  },
  answer_values: {
    most: 500_000,
    unit: 'values',
    of: 'one list of Nests, Birds or Users',
    reason: 'It is parsed in one turn of the event loop. 10,000 Birds have 70,000 values.',
    beyond: 'As for `answer_bytes`.',
    counted: true,
  },
  page_values: {
    most: 150_000,
    unit: 'values',
    of: 'any other answer of the service',
    reason: 'It is parsed in one turn of the event loop. A page of 10,000 entries has 120,000 values.',
    beyond: 'As for `page_bytes`.',
    counted: true,
  },
  malformed_items: {
    most: 1_000,
    unit: 'items',
    of: 'the entries of one answer that are set aside as malformed',
    reason: 'Each is a row, and all rows of an answer are written in one turn of the event loop.',
    beyond: 'Only the last ones are kept and counted.',
    counted: true,
  },
  problem_characters: {
    most: 64 * KIB,
    unit: 'characters',
    of: 'an error answer of the service',
    reason: 'People have to read it.',
    beyond: 'Only its status is used.',
    counted: false,
  },
  retry_after_ms: {
    most: 3_600_000,
    unit: 'milliseconds',
    of: 'how long requests to the service or a receiver pause because its answer asks for that (`Retry-After`)',
    reason: 'A garbled or hostile header must neither stop the watch nor delay alerts for days.',
    beyond: 'The next request is sent after this time, and its answer may ask for as long again.',
    counted: false,
  },
  kept_origins: {
    most: 100,
    unit: 'items',
    of: 'servers to which one HTTP client keeps connections open',
    reason: 'A receiver whose redirects are followed may name another server in each answer.',
    beyond: 'Connections to the least recently used server are closed, and opened again when needed.',
    counted: false,
  },
  name_characters: {
    most: 500,
    unit: 'characters',
    of: 'a name from the service: of a Nest, Bird, person, entity, step or scope',
    reason: 'It appears in every event, alert, mail and row about the thing it names.',
    beyond: 'The beginning is kept, followed by the number of characters left out.',
    counted: true,
  },
  word_characters: {
    most: 200,
    unit: 'characters',
    of: 'a word from the service: a status, a type, a sort of error',
    reason: 'It becomes part of labels, links and type names.',
    beyond: 'The beginning is kept, followed by the number of characters left out.',
    counted: true,
  },
  message_characters: {
    most: 32 * KIB,
    unit: 'characters',
    of: 'the message of an entry',
    reason: 'Stack traces of the service are far shorter.',
    beyond: 'The beginning is kept, followed by the number of characters left out.',
    counted: true,
  },
  id_characters: {
    most: 256,
    unit: 'characters',
    of: 'an id',
    reason: 'Ids become keys, labels and parts of paths.',
    beyond:
      'An entry is kept under the first 200 characters and a hash of the whole id. A Nest, Bird, Flight or User is malformed, since requests need its exact id.',
    counted: true,
  },
  link_characters: {
    most: 2_000,
    unit: 'characters',
    of: "a link into the service's own application, made from `links` of a region",
    reason: 'Some mail programs and browsers do not follow longer ones.',
    beyond: 'There is no link.',
    counted: false,
  },
  web_connections: {
    most: 256,
    unit: 'connections',
    of: "the daemon's HTTP server, or a quarter of the process's open files if that is less",
    reason: 'Idle clients must not take the sockets and files that the watch needs.',
    beyond:
      'For each new connection an old one is closed: the one idle for longest, or else the one whose answer takes longest. A silent connection is closed after half a minute.',
    counted: true,
  },
  stream_clients: {
    most: 50,
    unit: 'connections',
    of: 'pages that follow `/api/v1/stream`, or half of the connections if that is less',
    reason: 'Each one holds a connection while the page is visible.',
    beyond: 'The stream is refused with 503, and the page retries every ten seconds by itself.',
    counted: true,
  },
  waiting_requests: {
    most: 500,
    unit: 'items',
    of: 'requests to nestwatch that wait for the store, and as many scrapes; two of each run at a time',
    reason: 'The watch takes turns with those two, not with everything that somebody requests at once.',
    beyond: 'The request is refused with 503.',
    counted: true,
  },
  unread_bytes: {
    most: 32 * MIB,
    unit: 'bytes',
    of: 'answers of nestwatch that their clients have not read yet',
    reason: 'Clients that do not read their answers must not take the memory of the watch.',
    beyond:
      'Requests other than for health are refused with 503. A connection without progress for a minute is closed.',
    counted: true,
  },
  unread_log_bytes: {
    most: 4 * MIB,
    unit: 'bytes',
    of: 'log lines that were written but not read yet',
    reason:
      'The reader of the log may stand still, for example a pipe to a program that hangs; the watch continues.',
    beyond: 'Further lines are dropped. The log says how many, once it is read again.',
    counted: true,
  },
  request_head_bytes: {
    most: 16 * KIB,
    unit: 'bytes',
    of: 'the head of a request to nestwatch: its address with the query, and its headers',
    reason: 'It is held and parsed before anything is known about the client. Browsers send a few kB.',
    beyond: 'The request is refused with 431, and the connection is closed.',
    counted: true,
  },
  waiting_passwords: {
    most: 20,
    unit: 'items',
    of: 'passwords that wait to be compared with their hashes',
    reason:
      'Each takes 16 MB and about 50 ms, one after another; clients that are already logged in do not wait.',
    beyond: 'The request is refused with 429.',
    counted: false,
  },
  public_nests: {
    most: 1_000,
    unit: 'items',
    of: 'Nests with a public page',
    reason:
      'The content of each page is kept for a minute, so that visitors do not cause reads of the store.',
    beyond: 'Further Nests have no public page.',
    counted: false,
  },
  public_birds: {
    most: 200,
    unit: 'items',
    of: 'Birds named on a public page',
    reason: 'Failing Birds come first.',
    beyond: 'Further Birds are only counted.',
    counted: false,
  },
  request_bytes: {
    most: 512 * KIB,
    unit: 'bytes',
    of: 'the body of a request to nestwatch',
    reason: 'A silence has a few kB, an acknowledgement of 1,000 alerts up to 100 kB.',
    beyond: 'The request is refused with 413.',
    counted: false,
  },
  cron_characters: {
    most: 200,
    unit: 'characters',
    of: 'a cron expression, or the name of its time zone',
    reason: 'Even lists of every value of every field are shorter.',
    beyond: 'It is refused with the reason.',
    counted: false,
  },
  pattern_instructions: {
    most: 5_000,
    unit: 'instructions',
    of: 'a regular expression as RE2 compiles it, and all of one silence or one request together; a Unicode class such as `\\pL` counts as 100, and 8 characters count as at least one',
    reason:
      'Matching takes time in proportion to pattern and name, 20 ms at worst, and large classes take long to compile.',
    beyond: 'It is refused with the reason.',
    counted: false,
  },
  template_ms: {
    most: 150,
    unit: 'milliseconds',
    of: 'processor time to render the templates of one message',
    reason: 'Nothing else runs meanwhile. A template that shows 1,000 alerts takes about 50 ms.',
    beyond:
      'The built-in text is sent instead, and says so. A template that exceeds it while the configuration is read is refused.',
    counted: false,
  },
  matchers: {
    most: 100,
    unit: 'items',
    of: 'the matchers of one silence or one request',
    reason: 'An alert has about ten labels.',
    beyond: 'It is refused with the reason.',
    counted: false,
  },
  matching_ms: {
    most: 1_000,
    unit: 'milliseconds',
    of: 'time to evaluate the matchers of one request',
    reason: 'Smaller requests are answered within milliseconds; other work runs meanwhile.',
    beyond: 'The request is refused with 400.',
    counted: true,
  },
  silence_characters: {
    most: 20_000,
    unit: 'characters',
    of: 'one silence with its matchers and comment',
    reason: 'All silences are read at each flush.',
    beyond: 'It is refused with the reason.',
    counted: false,
  },
  silences: {
    most: 1_000,
    unit: 'items',
    of: 'silences that are not over, and as many expired ones',
    reason: 'Each is compared with each alert; a person can keep track of a few dozen.',
    beyond: 'A new one is refused with the reason; the oldest expired ones are deleted.',
    counted: true,
  },
  acknowledgements: {
    most: 10_000,
    unit: 'items',
    of: 'acknowledgements in force',
    reason: 'Each is compared with each alert, by id alone.',
    beyond: 'A new one is refused with the reason.',
    counted: true,
  },
  silences_instructions: {
    most: 50_000,
    unit: 'instructions',
    of: 'the regular expressions of all silences that are not over',
    reason: 'Each is compared with each alert: 200 ms per alert at worst, in steps of 20 to 40 ms.',
    beyond: 'A new one is refused with the reason.',
    counted: true,
  },
  subscribed_browsers: {
    most: 50,
    unit: 'items',
    of: 'browsers that one person subscribed; without logins, that all subscribed',
    reason: 'Every message of their receivers is encrypted for each of them and sent to its push service.',
    beyond: 'Another one is refused with the reason.',
    counted: false,
  },
  kept_writes: {
    most: 20_000,
    unit: 'items',
    of: 'requests for a change that are kept for `/writes`',
    reason: 'Each may have 2.5 kB, and clients that may write may send any number.',
    beyond: 'The oldest is deleted; the log has them all.',
    counted: false,
  },
  flight_duration: {
    most: 366 * 86_400_000,
    unit: 'milliseconds',
    of: 'the duration of a Flight, in metrics',
    reason: 'A single absurd value would make the sum useless.',
    beyond: 'The duration counts as unknown.',
    counted: false,
  },
  shown_birds: {
    most: 20_000,
    unit: 'items',
    of: 'Birds with series of their own (the largest `metrics.max_birds`), divided evenly among the regions',
    reason: 'Each has 14 series, and Prometheus keeps a few kB for each of those.',
    beyond: 'Further Birds count in all other metrics, and in `nestwatch_series_dropped_total`.',
    counted: false,
  },
  shown_nests: {
    most: 500,
    unit: 'items',
    of: 'Nests with series of their own, divided evenly among the regions',
    reason: 'Each has 15 series.',
    beyond: 'Further Nests count in all other metrics, and in `nestwatch_series_dropped_total`.',
    counted: false,
  },
  shown_causes: {
    most: 50,
    unit: 'items',
    of: 'causes of failures with series of their own in one region',
    reason: 'They are texts of the service: each failure could bring a new one.',
    beyond: 'Rarer causes count as `_other`.',
    counted: false,
  },
  shown_firing: {
    most: 1_000,
    unit: 'items',
    of: 'combinations of name, severity, region and Nest in `nestwatch_alerts_firing`',
    reason: 'A storm in every Nest would create thousands.',
    beyond: 'The smaller ones are added up, with `_other` as their Nest.',
    counted: false,
  },
} as const satisfies Readonly<Record<string, Limit>>;

export type LimitName = keyof typeof LIMITS;

/** Limits that can be reached at runtime and are counted. */
export const COUNTED_LIMITS = (Object.keys(LIMITS) as LimitName[]).filter((name) => LIMITS[name].counted);
