/**
 * Writes a first configuration: one to fill in, or a guided one. The guide asks for a region, a token and a receiver,
 * checks each answer and tests them at once. Nothing is written before the last answer, and existing files are never overwritten.
 */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load-config.ts';
import { ConfigError, withoutPosition } from '../../document/problem.ts';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { checkOnline, failureText } from '../commands/check-online.ts';
import { sendSamples, sentWords } from '../commands/test-receiver-command.ts';
import { Conversation } from './conversation.ts';
import {
  type Answers,
  firstConfiguration,
  RECEIVER,
  type ReceiverAnswers,
  type RegionAnswers,
  TO_FILL_IN,
} from './first-configuration.ts';

const FILE = 'nestwatch.yaml';
/** The folder of the secrets, one file each. */
const FOLDER = 'nestwatch-secrets';

/** The addresses of the service's regions. */
const ADDRESSES: ReadonlyMap<string, string> = new Map([
  ['eu', 'https://eu-1.blackbird.io/api-rest'],
  ['us', 'https://us-2.blackbird.io/api-rest'],
]);

const WAYS: ReadonlyMap<ReceiverAnswers['kind'], string> = new Map([
  ['email', 'mail'],
  ['slack', 'Slack, by an incoming webhook'],
  ['msteamsv2', 'Microsoft Teams, by a workflow'],
  ['webhook', 'a webhook of your own'],
  ['nobody', 'nobody for now: the page and the metrics alone'],
]);

const PLAIN_QUESTION = 'The mail server offers no encryption. Send mails that can be read on their way?';

const ADDRESS_QUESTION =
  'Address, such as https://nestwatch.example.com, or http://127.0.0.1:9465 for a trial on this machine alone';

/** Stands in for what was not asked yet, while an answer is checked. */
const NOT_ASKED = {
  region: { name: 'eu', baseUrl: 'https://eu-1.blackbird.io/api-rest', tokenFile: `${FOLDER}/token` },
  email: {
    kind: 'email',
    to: 'ops@example.com',
    smarthost: 'mail.example.com:587',
    from: 'nestwatch@example.com',
  },
} as const;

/**
 * Writes into `folder`. Throws `usage` if a configuration exists there, if there is no terminal, or if the person
 * cancels.
 */
export async function guidedInit(edge: Edge, folder = '.'): Promise<number> {
  if (existsSync(join(folder, FILE)))
    throw new NestwatchError('usage', `${FILE} exists already and stays as it is`);
  const talk = new Conversation(edge);
  try {
    const guide = new Guide(edge, talk, folder);
    const regions = await guide.askRegions();
    const receiver = await guide.askReceiver(regions);
    talk.say(
      'How do people reach the page of nestwatch? Messages will link to it; a test before this could not yet.',
    );
    const externalUrl = await guide.askExternalUrl({ regions, receiver, externalUrl: '' });
    await guide.write({ regions, receiver, externalUrl });
  } finally {
    talk.close();
  }
  return 0;
}

/** Throws `usage` if the file exists: it is never overwritten. */
export async function init(edge: Edge, options: { readonly stdout: boolean }): Promise<number> {
  if (options.stdout) {
    edge.stdout.write(TO_FILL_IN);
    return 0;
  }
  try {
    await writeFile(FILE, TO_FILL_IN, { flag: 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') {
      throw new NestwatchError(
        'usage',
        `${FILE} exists already and stays as it is; --stdout prints a new one`,
      );
    }
    throw new NestwatchError('usage', `${FILE} cannot be written here (${code})`, { cause: error });
  }
  edge.stderr.write(
    `${FILE} is written. Set NESTWATCH_EU_TOKEN and NESTWATCH_US_TOKEN, then: nestwatch check-config ${FILE} --online\n`,
  );
  return 0;
}

class Guide {
  readonly #edge: Edge;
  readonly #talk: Conversation;
  readonly #folder: string;
  /** The future contents of the secret files, by path. */
  readonly #secrets = new Map<string, string>();
  /** Whether the receiver has accepted a test. */
  #isProven = true;

  constructor(edge: Edge, talk: Conversation, folder: string) {
    this.#edge = edge;
    this.#talk = talk;
    this.#folder = folder;
  }

  async askRegions(): Promise<readonly RegionAnswers[]> {
    const regions: RegionAnswers[] = [];
    this.#talk.say('Which region should nestwatch watch?');
    do {
      regions.push(await this.#askRegion(regions.map(({ name }) => name)));
    } while (await this.#talk.confirm('Another region?', false));
    return regions;
  }

  async #askRegion(taken: readonly string[]): Promise<RegionAnswers> {
    const left = [...ADDRESSES.keys()].find((one) => !taken.includes(one));
    const others = { receiver: { kind: 'nobody' }, externalUrl: '' } as const;
    const isFine = (region: RegionAnswers) => !!this.#load({ ...others, regions: [region] });
    let before: RegionAnswers | undefined;
    for (;;) {
      const name = await until(
        () => this.#talk.ask('Name of the region', before?.name ?? left),
        (one) => {
          if (!taken.includes(one)) return isFine({ ...NOT_ASKED.region, name: one });
          this.#talk.say('There is already a region of that name.');
          return false;
        },
      );
      const known = before?.name === name ? before.baseUrl : ADDRESSES.get(name);
      const baseUrl = await until(
        () => this.#talk.ask('Address of its REST interface', known),
        (one) => isFine({ ...NOT_ASKED.region, baseUrl: one }),
      );
      const tokenFile = await until(
        async () =>
          this.#keep(`${name}-token`, await this.#talk.askUnseen('API token of an organisation admin')),
        (one) => isFine({ ...NOT_ASKED.region, tokenFile: one }),
      );
      const region = { name, baseUrl, tokenFile };
      before = region;
      const config = this.#load({ ...others, regions: [region] });
      if (config && (await this.#isReached(config))) return region;
      if (config && !(await this.#talk.confirm('Try again?', true))) return region;
    }
  }

  async #isReached(config: Config): Promise<boolean> {
    let isReached = true;
    for await (const { note, warning, ...tried } of checkOnline(this.#edge, { ...config, receivers: [] })) {
      const failure = failureText(tried);
      if (failure !== undefined) isReached = false;
      this.#talk.say(failure ?? `It answers: ${note ?? 'good'}.`);
      if (warning !== undefined) this.#talk.say(`But ${warning}.`);
    }
    return isReached;
  }

  async askReceiver(regions: readonly RegionAnswers[]): Promise<ReceiverAnswers> {
    let before: ReceiverAnswers | undefined;
    let isMail = false;
    for (;;) {
      const kind = isMail ? 'email' : await this.#talk.choose('Who is notified?', WAYS, before?.kind);
      const receiver = await this.#askWay(kind, regions, before);
      if (receiver.kind === 'nobody') return receiver;
      before = receiver;
      const answers = { regions, receiver, externalUrl: '' };
      const config = this.#load(answers);
      if (!config) continue;
      const isTried = await this.#talk.confirm('Send a test now?', true);
      const refused = isTried ? await this.#tryToSend(config) : undefined;
      this.#isProven = isTried && refused === undefined;
      if (!isTried || this.#isProven) return receiver;
      const isBare = refused?.includes('STARTTLS') === true;
      const mayBePlain = isBare && (await this.#talk.confirm(PLAIN_QUESTION, false));
      const plain = mayBePlain ? await this.#tryPlain(answers) : undefined;
      if (plain) return plain;
      // Whoever wants encryption needs another server or port, and no other way.
      isMail = isBare && !mayBePlain;
      const again = isMail ? 'Name another mail server or port?' : 'Try again?';
      if (!(await this.#talk.confirm(again, true))) return receiver;
    }
  }

  /** Sends without encryption; undefined if it is not accepted either. */
  async #tryPlain({ receiver, ...others }: Answers): Promise<ReceiverAnswers | undefined> {
    const plain = { ...receiver, isPlain: true };
    const config = this.#load({ ...others, receiver: plain });
    this.#isProven = config !== undefined && (await this.#tryToSend(config)) === undefined;
    return this.#isProven ? plain : undefined;
  }

  /** The answers given `before` are the defaults, except secrets. */
  async #askWay(
    kind: ReceiverAnswers['kind'],
    regions: readonly RegionAnswers[],
    before: ReceiverAnswers | undefined,
  ): Promise<ReceiverAnswers> {
    const isFine = (receiver: ReceiverAnswers) => !!this.#load({ regions, receiver, externalUrl: '' });
    if (kind === 'nobody') return { kind };
    if (kind !== 'email') {
      const urlFile = await until(
        async () => this.#keep(`${kind}-url`, await this.#talk.askUnseen('Webhook URL')),
        (one) => isFine({ kind, urlFile: one }),
      );
      return { kind, urlFile };
    }
    const known = before?.kind === 'email' ? before : undefined;
    const to = await until(
      () => this.#talk.ask('Recipient', known?.to),
      (one) => isFine({ ...NOT_ASKED.email, to: one }),
    );
    const smarthost = await until(
      () => this.#talk.ask('Mail server, as host:port', known?.smarthost),
      (one) => isFine({ ...NOT_ASKED.email, smarthost: one }),
    );
    const usual = to.includes('@') ? `nestwatch@${to.split('@').at(-1)}` : '';
    const from = await until(
      () => this.#talk.ask('Sender', known?.from ?? usual),
      (one) => isFine({ ...NOT_ASKED.email, from: one }),
    );
    const mail = { kind, to, smarthost, from };
    const user = await this.#talk.askIfAny('User name for the mail server', known?.login?.user);
    if (user === '') return mail;
    const passwordFile = this.#keep('smtp-password', await this.#talk.askUnseen('Password'));
    return { ...mail, login: { user, passwordFile } };
  }

  /** Returns why the test was not accepted; undefined if it was. */
  async #tryToSend(config: Config): Promise<string | undefined> {
    const receiver = config.receivers.find(({ name }) => name === RECEIVER)!;
    let refused: string | undefined;
    await sendSamples(this.#edge, config, receiver, false, (_integration, taken) => {
      if (taken.outcome !== 'accepted') refused = taken.detail;
      this.#talk.say(`The test was ${sentWords(taken)}.`);
    });
    return refused;
  }

  async askExternalUrl(answers: Answers): Promise<string> {
    return until(
      () => this.#talk.askIfAny(ADDRESS_QUESTION),
      (externalUrl) => !!this.#load({ ...answers, externalUrl }),
    );
  }

  /** Undefined if it has mistakes, which are then printed. */
  #load(answers: Answers): Config | undefined {
    try {
      return loadConfig({
        file: this.#pathOf(FILE),
        text: firstConfiguration(answers),
        environment: {},
        readFile: (path) => this.#secrets.get(relative(this.#folder, path)) ?? 'not asked yet',
      });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const problem of error.problems) this.#talk.say(withoutPosition(problem));
      return undefined;
    }
  }

  /** Gives a secret an unused file name, and the same name again if the question is repeated. */
  #keep(name: string, secret: string): string {
    const plain = name.replaceAll(/[^\w.-]/g, '_');
    for (let count = 1; ; count += 1) {
      const path = `${FOLDER}/${plain}${count === 1 ? '' : `-${count}`}`;
      if (existsSync(this.#pathOf(path))) continue;
      this.#secrets.set(path, secret);
      return path;
    }
  }

  #pathOf(name: string): string {
    return join(this.#folder, name);
  }

  async write(answers: Answers): Promise<void> {
    const text = firstConfiguration(answers);
    await mkdir(this.#pathOf(FOLDER), { recursive: true, mode: 0o700 });
    for (const [path, secret] of this.#secrets) {
      // Secrets of answers that were replaced are not needed.
      if (text.includes(path))
        await writeFile(this.#pathOf(path), `${secret}\n`, { flag: 'wx', mode: 0o600 });
    }
    await writeFile(this.#pathOf(FILE), text, { flag: 'wx' });
    const program = commandWords(this.#edge);
    this.#talk.say(
      `${FILE} is written, and its secrets in ${FOLDER}, which only you can read. Start it with: ${program} run`,
    );
    if (!this.#isProven)
      this.#talk.say(
        `No test has arrived yet, so perhaps nobody is notified: ${program} test-receiver ${RECEIVER}`,
      );
  }
}

/** Asks until the answer is fine; otherwise `isFine` has said why. */
async function until(ask: () => Promise<string>, isFine: (answer: string) => boolean): Promise<string> {
  for (;;) {
    const answer = await ask();
    if (isFine(answer)) return answer;
  }
}

/** How this program was started, for another command of it. */
function commandWords({ program, environment }: Edge): string {
  if (environment.npm_lifecycle_event === 'nestwatch') return 'npm run -s nestwatch --';
  if (environment.npm_command === 'exec') return 'npx nestwatch';
  // A checkout needs its own Node.
  return program.at(-1)!.endsWith('.ts') ? program.join(' ') : 'nestwatch';
}
