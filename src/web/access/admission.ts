/** Authenticates and authorizes requests, and records those that change something. */
import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { Scope } from '../../config/sections/access-section.ts';
import type { WriteRecord } from '../../report.ts';
import { secretsIn, withoutSecrets } from '../../secret.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Clock } from '../../time/clock.ts';
import { BusyError } from '../bounded-work.ts';
import { MAX_AUTHOR_LENGTH } from '../requests/silence-request.ts';
import type { WebOptions } from '../web-options.ts';
import { BEARER_OF_LINK, createIdentifier, type Identity, scopeFor } from './identify.ts';

declare module 'hono' {
  interface ContextVariableMap {
    /** The sender of the request; set once the request was admitted. */
    identity: Identity;
  }
}

type AdmissionOptions = Pick<WebOptions, 'config' | 'links' | 'store' | 'clock' | 'report' | 'oidc'>;

type Refuse = (c: Context, status: 401 | 403 | 429, message: string) => Response;

export interface Admission {
  /** Whether the sender may read. For answers that are open to everybody but contain less for strangers. */
  mayRead(c: Context): Promise<boolean>;
  /** Admits only senders who may do what they request, to everything that is added to `app` afterwards. */
  protect(app: Hono, refuse: Refuse): void;
  /** Records what somebody asked for; `asked` by default the beginning of the request's body. */
  note(c: Context, by: Pick<Identity, 'name' | 'by'>, status: number, asked?: string): Promise<void>;
}

export function createAdmission({ config, links, store, clock, report, oidc }: AdmissionOptions): Admission {
  const identify = createIdentifier(config);
  const isFirstRefusal = oncePerHour(clock);

  const identityOf = async (c: Context) =>
    oidc?.identityOf(c) ??
    identify({
      authorization: c.req.header('authorization'),
      header: (name) => c.req.header(name),
      address: addressOf(c),
    });

  // A signed link needs no credentials for what it is signed for.
  const hasLink = (c: Context) =>
    c.req.path === '/acknowledge' && Boolean(links.read(c.req.query('link') ?? '', clock.nowUs()));

  return {
    note,
    async mayRead(c) {
      const identity = await identityOf(c);
      return typeof identity === 'object' && identity.scopes.has('read');
    },

    protect(app, refuse) {
      app.use(async (c, next) => {
        const scope = scopeFor(c.req.method, c.req.path);
        const found = await identityOf(c);
        const isKnown = typeof found === 'object' && found.scopes.has(scope);
        const identity = !isKnown && hasLink(c) ? BEARER_OF_LINK : found;
        if (identity === 'busy') return refuse(c, 429, 'Too many log in at once: try again in a moment.');
        if (identity === 'unknown' && oidc && isOfBrowser(c)) return c.redirect(oidc.loginPath(c), 303);
        if (identity === 'unknown') {
          c.header('www-authenticate', 'Basic realm="nestwatch", charset="UTF-8", Bearer realm="nestwatch"');
          return refuse(c, 401, config.access?.users.size ? NEEDED + OR_USER : NEEDED);
        }
        if (!identity.scopes.has(scope)) {
          if (isChange(scope) && isFirstRefusal(identity)) await note(c, identity, 403);
          const scopes = [...identity.scopes].join(', ');
          return refuse(c, 403, `This needs the scope ${scope}; ${identity.name} has ${scopes}.`);
        }
        c.set('identity', identity);
        await next();
        if (isChange(scope)) await note(c, identity, c.res.status);
        return;
      });
    },
  };

  async function note(
    c: Context,
    { name, by }: Pick<Identity, 'name' | 'by'>,
    status: number,
    said?: string,
  ): Promise<void> {
    // Whoever knows where a browser has its messages sent could send it something.
    const isSecret = c.req.path === '/notifications';
    const asked = said ?? (isSecret ? '' : await c.req.text().catch(() => ''));
    // Whoever has a token may also send it where it does not belong.
    const clean = (text: string) => withoutSecrets(text, secretsIn(config));
    const typed = () => plainText(clean(new URLSearchParams(asked).get('author') ?? ''), MAX_AUTHOR_LENGTH);
    const write: WriteRecord = {
      // A link is nobody's own, so the name is the one that was typed.
      who: by === 'link' ? typed() : name,
      by,
      from: addressOf(c),
      action: plainText(clean(`${c.req.method} ${c.req.path}${queryOf(c)}`), MAX_ACTION),
      asked: plainText(clean(asked.slice(0, 2 * MAX_ASKED)), MAX_ASKED),
      status,
      atUs: clock.nowUs(),
    };
    report({ what: 'write', ...write });
    try {
      await store.transaction((tx) => tx.writes.add(write));
    } catch (error) {
      // The answer stays the same, and the log has the record. The limit that was reached is in the log as well.
      if (!(error instanceof BusyError)) report({ what: 'trouble', stage: 'store', error });
    }
  }
}

/** Whether a person opens a page, and has not tried a password. */
function isOfBrowser(c: Context): boolean {
  const isPage = c.req.method === 'GET' && c.req.header('accept')?.includes('text/html');
  // If `web.external_url` names another path than is served, the page of the login is not found, and would lead to itself.
  if (c.req.path.endsWith('/login')) return false;
  return Boolean(isPage) && c.req.header('authorization') === undefined && !c.req.path.startsWith('/api/');
}

const isChange = (scope: Scope) => scope === 'write' || scope === 'fly';

const HOUR_MS = 3_600_000;

/** Whoever may not write could otherwise push the changes of all others out of the record, and fill the log. */
function oncePerHour(clock: Clock): (identity: Identity) => boolean {
  const refused = new Set<string>();
  let untilMs = Number.NEGATIVE_INFINITY;
  return ({ by, name }) => {
    if (clock.monotonicMs() >= untilMs) {
      refused.clear();
      untilMs = clock.monotonicMs() + HOUR_MS;
    }
    const isFirst = !refused.has(`${by} ${name}`);
    refused.add(`${by} ${name}`);
    return isFirst;
  };
}

const NEEDED = 'A token is needed: as Authorization: Bearer, or as the password of any user.';
const OR_USER = ' People come with their own name and password.';

const MAX_ACTION = 500;
/** The most that is recorded of a request's body. A silence with a comment has less. */
const MAX_ASKED = 2_000;

/** A link is as good as a token for what it is signed for, so it is not recorded. */
function queryOf(c: Context): string {
  const { searchParams } = new URL(c.req.url);
  if (searchParams.has('link')) searchParams.set('link', 'secret');
  const text = searchParams.toString();
  return text && `?${text}`;
}

function addressOf(c: Context): string {
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
  // A socket that listens on IPv6 as well writes an address of IPv4 in the form of IPv6.
  return (incoming?.socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
}
