/**
 * Browsers that people subscribed on the page `/notifications`: a message goes to each of them by Web Push (RFC 8030),
 * encrypted so that its push service cannot read it.
 */
import { createHash, generateKeyPairSync } from 'node:crypto';
import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { httpReader } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { duration } from '../../document/value-shape.ts';
import type { LeftOut } from '../../domain/grouping/notification.ts';
import {
  isPushEndpoint,
  PUSH_SERVICES,
  type SubscribedBrowser,
} from '../../domain/grouping/subscribed-browser.ts';
import type { HttpSettings } from '../../http/http-settings.ts';
import { secret } from '../../secret.ts';
import {
  type Browsers,
  type Channel,
  type ChannelOptions,
  ONLY_CLOUDEVENTS,
  type OpenChannel,
  type Outcome,
} from '../channel.ts';
import { chatMessage } from '../message/chat-message.ts';
import type { Readable } from '../message/digest-view.ts';
import { isGone, openSender, probeAddress } from '../post-channel.ts';
import { postKeys, type ReaderZone, refuseCredentials, timezoneKey } from '../post-config.ts';
import type { Integration, Receiver } from '../receiver.ts';

export interface BrowserIntegration extends Integration, ReaderZone {
  /** Hosts of push services besides the known ones. */
  readonly services: readonly string[];
  readonly ttlMs: number;
  readonly timeoutMs: number;
  readonly http?: HttpSettings;
}

const browserShape = z
  .strictObject({
    push_services: z
      .array(
        z.string().regex(/^(?:[a-z0-9-]+|\.[a-z0-9-]+\.[a-z0-9-]+)(?:\.[a-z0-9-]+)*(?::\d+)?$/, {
          error: 'must be a host, such as push.example.com',
        }),
      )
      .prefault([])
      .describe(
        'Further hosts to which browsers may have messages sent, besides the push services of Chrome, Edge, Firefox and Safari; one that begins with a dot stands for all below it.',
      ),
    ttl: duration()
      .prefault('1d')
      .describe('How long a push service keeps a message for a browser that is not running.'),
    ...timezoneKey,
    ...postKeys(true),
  })
  .describe(
    'A notification in every browser that somebody subscribed to the receiver on the page `/notifications`, which must be served over HTTPS, or on this machine.',
  );

/** In UTF-16 units, each of at most 3 bytes: a push service takes 4096 bytes, encrypted (RFC 8030, 7.2). */
const LIMITS = { title: 120, text: 900, hasLinksBeside: true };
/** A longer address leads to the page instead. */
const MAX_URL = 500;
const WITHOUT_DAEMON =
  'only the daemon knows which browsers are subscribed: send the test from the page /deliveries';
const NOBODY = {
  recipient: 'browsers',
  why: 'none is subscribed: somebody has to, on the page /notifications',
};

export const browserChannel: Channel<BrowserIntegration> = {
  kind: 'browser',
  audience: 'people',
  pace: { inFlight: 2, claimed: 8 },
  shape: browserShape,
  reader(check) {
    const readHttp = httpReader(check);
    return (path) => readBrowser(check, path, readHttp(path));
  },
  destination: () => 'subscribed browsers',
  preview: async (integration, notification, externalUrl) => ({
    text: JSON.stringify(shown(integration, notification, externalUrl, notification.id), null, 2),
  }),
  // Most browsers use this one. Which are used is known only to the daemon.
  probe: ({ http }) => ({
    ...probeAddress(secret(`https://${PUSH_SERVICES[0]}`), http),
    server: `push service ${PUSH_SERVICES[0]}`,
  }),
  open: openBrowsers,
};

/** The receivers with `browser_configs`, each with its further push services. */
export function browserReceivers(receivers: readonly Receiver[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    receivers.flatMap(({ name, integrations }) =>
      integrations
        .filter((one): one is BrowserIntegration => one.kind === 'browser')
        .map(({ services }) => [name, services] as const),
    ),
  );
}

function readBrowser(
  check: Check,
  path: Path,
  http: HttpSettings | undefined,
): BrowserIntegration | undefined {
  const entry = check.read(browserShape, path);
  refuseCredentials(check, path, 'http_config', http);
  if (path.at(-1) !== 0)
    check.problem(path, 'must be the only one: people subscribe to the receiver, not to an entry');
  if (!entry) return undefined;
  return {
    kind: 'browser',
    services: entry.push_services,
    ttlMs: entry.ttl,
    timeoutMs: entry.timeout,
    sendResolved: entry.send_resolved,
    ...(http && { http }),
    ...(entry.timezone !== undefined && { timezone: entry.timezone }),
  };
}

/** What the service worker of the page shows. The same `tag` replaces what is shown already. */
function shown({ timezone }: BrowserIntegration, notification: Readable, externalUrl: string, tag: string) {
  const { title, text, links, firesNewly } = chatMessage(notification, externalUrl, {}, [], LIMITS, timezone);
  // As links write it: the address in the configuration may have capitals or a port that is usual.
  const own = URL.parse(`${externalUrl}/`)?.href ?? '/';
  const url = links.find((one) => one.url.startsWith(own) && one.url.length <= MAX_URL)?.url ?? '';
  return { title, body: text, url: externalUrl && url, tag, isUrgent: firesNewly };
}

function openBrowsers(options: ChannelOptions): OpenChannel<BrowserIntegration> {
  const sender = openSender(options);

  async function push(
    integration: BrowserIntegration,
    browser: SubscribedBrowser,
    message: ReturnType<typeof shown>,
    { keys }: Browsers,
    externalUrl: string,
  ): Promise<Outcome> {
    const { endpoint, p256dh, auth } = browser;
    if (!isPushEndpoint(endpoint, integration.services)) {
      return { kind: 'refused', reason: 'rejected', error: 'its push service is not one of `push_services`' };
    }
    // Whom a push service can ask about the sender.
    const subject = externalUrl.startsWith('https:') ? externalUrl : 'mailto:nestwatch@localhost';
    const { default: webPush } = await import('web-push');
    const { headers, body } = webPush.generateRequestDetails(
      { endpoint, keys: { p256dh, auth } },
      JSON.stringify({ ...message, isUrgent: undefined }),
      {
        vapidDetails: { subject, publicKey: keys.publicKey, privateKey: keys.privateKey.reveal() },
        TTL: Math.ceil(integration.ttlMs / 1_000),
        urgency: message.isUrgent ? 'high' : 'normal',
        // Of two with the same topic, a push service keeps only the later one.
        topic: createHash('sha256').update(message.tag).digest('base64url').slice(0, 32),
      },
    );
    const { 'Content-Type': contentType, 'Content-Length': _length, ...others } = headers;
    return sender.post({
      ...{ url: endpoint, contentType: String(contentType), body },
      // Its answer must not repeat the address.
      integration: { ...integration, ...{ endpoint: secret(endpoint) } },
      headers: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value)])),
    });
  }

  return {
    async send(integration, { id, receiver, remaining }, notification, externalUrl) {
      if (notification.kind === 'forward') return { kind: 'nothing', why: ONLY_CLOUDEVENTS };
      const { browsers } = options;
      if (!browsers) return { kind: 'nothing', why: WITHOUT_DAEMON };
      const all = await browsers.of(receiver);
      const meant = remaining ? all.filter((one) => remaining.includes(one.id)) : all;
      if (meant.length === 0) {
        const leftOut = remaining ? undefined : { leftOut: [NOBODY] };
        return { kind: 'nothing', why: 'no browser is subscribed that has not got it', ...leftOut };
      }
      const message = shown(integration, notification, externalUrl, id);
      const tried = await Promise.all(
        meant.map(async (browser) => ({
          browser,
          outcome: await push(integration, browser, message, browsers, externalUrl),
        })),
      );
      const gone = tried.filter(({ outcome }) => isGone(outcome)).map(({ browser }) => browser.id);
      if (gone.length > 0) await browsers.forget(receiver, gone);
      return together(tried);
    },
    close: sender.close,
  };
}

interface Tried {
  readonly browser: SubscribedBrowser;
  readonly outcome: Outcome;
}

/** One outcome for all. Those that may accept it later are tried again: without the others, once one has accepted it. */
function together(tried: readonly Tried[]): Outcome {
  const leftOut: LeftOut[] = [];
  const again: string[] = [];
  let refused: Outcome | undefined;
  let failed: Extract<Outcome, { kind: 'failed' | 'unknown' }> | undefined;
  for (const { browser, outcome } of tried) {
    if (outcome.kind === 'refused') {
      const why = isGone(outcome) ? 'it is no longer subscribed' : outcome.error;
      leftOut.push({ recipient: [browser.name, browser.person].filter(Boolean).join(' of '), why });
      if (!isGone(outcome)) refused = outcome;
    } else if (outcome.kind !== 'accepted' && outcome.kind !== 'nothing') {
      again.push(browser.id);
      failed = outcome;
    }
  }
  const left = leftOut.length > 0 && { leftOut };
  const isTaken = tried.some(({ outcome }) => outcome.kind === 'accepted');
  // A lost answer is no reason not to repeat it: its tag shows it once.
  if (failed) return { ...failed, kind: 'failed', ...(isTaken && { ...left, remaining: again }) };
  if (leftOut.length < tried.length) return { kind: 'accepted', ...left };
  return refused ?? { kind: 'nothing', why: 'no browser is subscribed any more', leftOut };
}

/** A new pair of keys on the curve P-256, as one text: it is stored, and the same for all replicas ever after. */
export function newPushKeys(): string {
  const {
    x = '',
    y = '',
    d = '',
  } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    format: 'jwk',
  });
  // An uncompressed point (SEC 1, 2.3.3).
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  return `${point.toString('base64url')}.${d}`;
}

export function readPushKeys(stored: string): Browsers['keys'] {
  const [publicKey = '', privateKey = ''] = stored.split('.');
  return { publicKey, privateKey: secret(privateKey) };
}
