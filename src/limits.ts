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
  answer_bytes: {
    most: 16 * MIB,
    unit: 'bytes',
    of: 'one answer of the service, unpacked',
    reason: 'An answer is held whole while it is read; a page of 100 entries has some 50 kB.',
    beyond: 'The connection is cut, and smaller pages or shorter windows are asked for.',
    counted: true,
  },
  bytes_in_flight: {
    most: 32 * MIB,
    unit: 'bytes',
    of: 'all answers of one region that are being received or read',
    reason: 'Eight large answers at once would take most of a small heap.',
    beyond: 'The answers that came last are received when there is room again.',
    counted: true,
  },
  page_items: {
    most: 10_000,
    unit: 'items',
    of: 'one page of notifications or logs',
    reason: 'The largest `page_size` there is. Tiny items fit into an answer by the million.',
    beyond: 'The page is refused unread, and smaller ones are asked for.',
    counted: true,
  },
  flight_items: {
    most: 20_000,
    unit: 'items',
    of: 'one answer with Flights',
    reason: 'What one answer brings is committed together.',
    beyond: 'The answer is refused unread, and shorter windows of time are asked for.',
    counted: true,
  },
  inventory_items: {
    most: 100_000,
    unit: 'items',
    of: 'one list of Nests, Birds or Users',
    reason: 'Several times as many as anybody watches; the service gives these lists whole.',
    beyond: 'The list is refused unread, and the inventory stays as it was.',
    counted: true,
  },
  item_values: {
    most: 200_000,
    unit: 'values',
    of: 'one item of an answer',
    reason: 'An item is held and read at once. A Nest with 20,000 members has 120,000.',
    beyond: 'The item is set aside as malformed, or an answer that is no list is refused.',
    counted: true,
  },
  malformed_items: {
    most: 1_000,
    unit: 'items',
    of: 'the entries of one answer that are set aside as malformed',
    reason: 'Each is a row, and all of an answer are written in one turn of the event loop.',
    beyond: 'The last of them are kept and counted.',
    counted: true,
  },
  problem_characters: {
    most: 64 * KIB,
    unit: 'characters',
    of: 'an answer that says what went wrong',
    reason: 'It is for people to read.',
    beyond: 'Only the status is taken from it.',
    counted: false,
  },
  retry_after_ms: {
    most: 3_600_000,
    unit: 'milliseconds',
    of: 'how long the service or a receiver is left alone because its answer asks for that (`Retry-After`)',
    reason: 'A header that is garbled or hostile must neither end the watch nor hold back alerts for days.',
    beyond: 'It is asked again after this time, and may ask for as long again.',
    counted: false,
  },
  kept_origins: {
    most: 100,
    unit: 'items',
    of: 'servers to which one way out keeps connections for the next request',
    reason: 'A receiver whose redirects are followed may name another server in each of its answers.',
    beyond: 'Connections to the one that was asked longest ago end, and are made again when it is asked.',
    counted: false,
  },
  name_characters: {
    most: 500,
    unit: 'characters',
    of: 'a name that the service gives: of a Nest, Bird, person, entity, step or scope',
    reason: 'It stands in every event, alert, mail and row about what has it.',
    beyond: 'The beginning is kept, with how many characters more there were.',
    counted: true,
  },
  word_characters: {
    most: 200,
    unit: 'characters',
    of: 'a word of the service: a status, a type, a sort of error',
    reason: 'It becomes part of labels, links and names of types.',
    beyond: 'The beginning is kept, with how many characters more there were.',
    counted: true,
  },
  message_characters: {
    most: 32 * KIB,
    unit: 'characters',
    of: 'the message of an entry',
    reason: 'Stack traces of the service stay far below it.',
    beyond: 'The beginning is kept, with how many characters more there were.',
    counted: true,
  },
  id_characters: {
    most: 256,
    unit: 'characters',
    of: 'an id',
    reason: 'Ids become keys, labels and parts of paths.',
    beyond:
      'An entry is kept under the first 200 characters and a hash of all. A Nest, Bird, Flight or User, which is asked for by its id, is malformed.',
    counted: true,
  },
  link_characters: {
    most: 2_000,
    unit: 'characters',
    of: "an address in the service's own application, as `links` of a region make it",
    reason: 'Longer ones are not followed by every mail program and browser.',
    beyond: 'There is no link.',
    counted: false,
  },
  web_connections: {
    most: 256,
    unit: 'connections',
    of: "the daemon's own HTTP, or a quarter of the open files that the process may have where that is less",
    reason:
      'Whoever opens connections and says nothing must not take the sockets and files that the watch needs.',
    beyond:
      'For each further one the connection is closed that has been without a request for longest, or else whose answer takes longest; one that is silent is closed after half a minute.',
    counted: true,
  },
  stream_clients: {
    most: 50,
    unit: 'connections',
    of: 'the pages that follow `/api/v1/stream`, or half of the connections where that is less',
    reason: 'Each holds a connection for as long as the page is seen.',
    beyond: 'The stream is refused with 503, and the page asks again every ten seconds by itself.',
    counted: true,
  },
  waiting_requests: {
    most: 500,
    unit: 'items',
    of: 'the requests to nestwatch that wait for the store, and as many scrapes; two of each have their turn at once',
    reason: 'The watch takes turns with those, and not with all that somebody asks at once.',
    beyond: 'The request is refused with 503.',
    counted: true,
  },
  unread_bytes: {
    most: 32 * MIB,
    unit: 'bytes',
    of: 'the answers of nestwatch that wait to be read by those who asked for them',
    reason: 'Whoever asks and does not read must not take the memory of the watch.',
    beyond:
      'Other requests than for health are refused with 503. A connection on which nothing moves for a minute is closed.',
    counted: true,
  },
  unread_log_bytes: {
    most: 4 * MIB,
    unit: 'bytes',
    of: 'the lines of the log that were written and that nobody has read yet',
    reason:
      'Whoever reads the log may stand still, as a pipe to a program that hangs, and the watch goes on.',
    beyond: 'Further lines are left out. The log says how many, once it is read again.',
    counted: true,
  },
  request_head_bytes: {
    most: 16 * KIB,
    unit: 'bytes',
    of: 'the head of a request to nestwatch: its address with the query, and its headers',
    reason: 'It is held and looked through before anything is known of who asks. Browsers send some kB.',
    beyond: 'It is refused with 431, and the connection closed.',
    counted: true,
  },
  waiting_passwords: {
    most: 20,
    unit: 'items',
    of: 'the passwords that wait to be compared with their hashes',
    reason: 'Each takes 16 MB and some 50 ms, one after another; whoever is logged in already does not wait.',
    beyond: 'The request is refused with 429.',
    counted: false,
  },
  public_nests: {
    most: 1_000,
    unit: 'items',
    of: 'Nests that have a public page',
    reason:
      'What is said of each is kept for a minute, so that the store is not read for everybody who asks.',
    beyond: 'The others have none.',
    counted: false,
  },
  public_birds: {
    most: 200,
    unit: 'items',
    of: 'Birds named on a public page',
    reason: 'Those that fail stand first.',
    beyond: 'They are counted.',
    counted: false,
  },
  request_bytes: {
    most: 512 * KIB,
    unit: 'bytes',
    of: 'the body of a request to nestwatch',
    reason: 'A silence or an acknowledgement of 1,000 alerts has some kB.',
    beyond: 'It is refused with 413.',
    counted: false,
  },
  cron_characters: {
    most: 200,
    unit: 'characters',
    of: 'a cron expression, or the name of its time zone',
    reason: 'Lists of every value of every field have less.',
    beyond: 'It is refused with the reason.',
    counted: false,
  },
  pattern_instructions: {
    most: 5_000,
    unit: 'instructions',
    of: 'a regular expression as RE2 compiles it, and of all of one silence or one request together; a class of Unicode such as `\\pL` counts as 100, and 8 characters as one at least',
    reason:
      'Matching one name takes as long as both are large, 20 ms here at the worst, and large classes take long to compile.',
    beyond: 'It is refused with the reason.',
    counted: false,
  },
  template_ms: {
    most: 150,
    unit: 'milliseconds',
    of: 'the processor time to fill in the templates of one message',
    reason: 'Nothing else is done meanwhile. One that shows 1,000 alerts takes some 50 ms.',
    beyond:
      'The built-in text is sent in its place, and says so. A template that is tried when it is read is refused.',
    counted: false,
  },
  matchers: {
    most: 100,
    unit: 'items',
    of: 'the matchers of one silence or one request',
    reason: 'An alert has some ten labels.',
    beyond: 'It is refused with the reason.',
    counted: false,
  },
  matching_ms: {
    most: 1_000,
    unit: 'milliseconds',
    of: 'the time for the matchers of one request',
    reason: 'Whoever asks for less is answered within milliseconds; other work goes on meanwhile.',
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
    of: 'all silences that are not over, and of those that are over as many',
    reason: 'Each is compared with each alert; a person can oversee some dozens.',
    beyond: 'A new one is refused with the reason; of those that are over the oldest are forgotten.',
    counted: true,
  },
  acknowledgements: {
    most: 10_000,
    unit: 'items',
    of: 'all acknowledgements that last',
    reason: 'Each is compared with each alert, by its id alone.',
    beyond: 'A new one is refused with the reason.',
    counted: true,
  },
  silences_instructions: {
    most: 50_000,
    unit: 'instructions',
    of: 'the regular expressions of all silences that are not over',
    reason: 'Each is compared with each alert: 200 ms for one alert at the worst, in turns of 20-40.',
    beyond: 'A new one is refused with the reason.',
    counted: true,
  },
  kept_writes: {
    most: 20_000,
    unit: 'items',
    of: 'requests for a change that are kept for `/writes`',
    reason: 'Each may have 2.5 kB, and who may write may ask as often as they like.',
    beyond: 'The oldest goes; the log has them all.',
    counted: false,
  },
  flight_duration: {
    most: 366 * 86_400_000,
    unit: 'milliseconds',
    of: 'how long a Flight took, in metrics',
    reason: 'One absurd figure would make the sum of all of them useless.',
    beyond: 'Its duration counts as unknown.',
    counted: false,
  },
  shown_birds: {
    most: 20_000,
    unit: 'items',
    of: 'Birds with series of their own, the largest `metrics.max_birds`; shared out evenly among the regions',
    reason: 'Each has 14 series; Prometheus keeps some kB for each of those.',
    beyond: 'They count in everything else, and in `nestwatch_series_dropped_total`.',
    counted: false,
  },
  shown_nests: {
    most: 500,
    unit: 'items',
    of: 'Nests with series of their own; shared out evenly among the regions',
    reason: 'Each has 15 series.',
    beyond: 'They count in everything else, and in `nestwatch_series_dropped_total`.',
    counted: false,
  },
  shown_causes: {
    most: 50,
    unit: 'items',
    of: 'causes of failures with a series of their own in one region',
    reason: 'They are texts of the service: each failure could bring another.',
    beyond: 'The rarer ones count as `_other`.',
    counted: false,
  },
  shown_firing: {
    most: 1_000,
    unit: 'items',
    of: 'combinations of name, severity, region and Nest in `nestwatch_alerts_firing`',
    reason: 'A storm in every Nest would make thousands.',
    beyond: 'The smaller ones are added up with `_other` as their Nest.',
    counted: false,
  },
} as const satisfies Readonly<Record<string, Limit>>;

export type LimitName = keyof typeof LIMITS;

/** Limits that can be reached at runtime and are counted. */
export const COUNTED_LIMITS = (Object.keys(LIMITS) as LimitName[]).filter((name) => LIMITS[name].counted);
