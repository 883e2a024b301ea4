import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { readServerTls, serverTlsShape } from '../../document/connection-config.ts';
import { checked, words } from '../../document/value-shape.ts';
import type { ServerTls } from '../../http/http-settings.ts';
import {
  formatHostPort,
  type HostPort,
  isLoopback,
  mistakeInBaseUrl,
  mistakeInHostPort,
  parseHostPort,
  withoutTrailingSlash,
} from '../../http/web-address.ts';
import type { Secret } from '../../secret.ts';
import { matchesGlob } from '../../text/glob.ts';
import { type AccessConfig, accessShape, mistakeInToken, readAccess } from './access-section.ts';

const mistakeInListen = (text: unknown) => mistakeInHostPort(text, '127.0.0.1:9465 or [::1]:9465');

export const DEFAULT_LISTEN: HostPort = { host: '127.0.0.1', port: 9465 };

export const webShape = z.strictObject({
  listen: z
    .string({ error: ({ input }) => mistakeInListen(input) })
    .refine((text) => parseHostPort(text), { error: ({ input }) => mistakeInListen(input) })
    .prefault(formatHostPort(DEFAULT_LISTEN))
    .describe(
      'Address that serves the page, the API and `/metrics`, as `host:port`. `:port` listens on all addresses, of IPv6 and of IPv4.',
    ),
  external_url: checked(mistakeInBaseUrl)
    .optional()
    .describe(
      'Address under which people reach the page; links in messages begin with it. Without it, messages to people contain no links.',
    ),
  auth: accessShape.prefault({}),
  tls: serverTlsShape.optional().describe('Serves HTTPS instead of HTTP.'),
  public: z
    .strictObject({
      nests: z
        .array(words)
        .min(1)
        .describe(
          "Globs on a Nest's name or id: these Nests have a page and a badge that everybody may see.",
        ),
      birds: z
        .enum(['counts', 'names'])
        .prefault('counts')
        .describe('Whether the page only counts the Birds of the Nest or lists their names.'),
    })
    .optional()
    .describe(
      'Public status pages at `/public/{region}/{nest id}`, with a badge at `…/badge.svg`, even if `auth` is set. They show the status of the Nest and since when, and notes that somebody wrote for everybody (`alerts note --public`), but no errors, people or ids. Without this key nothing is public.',
    ),
  enable_lifecycle: z
    .boolean()
    .prefault(false)
    .describe('Enables `POST /-/reload`, which reads this file again.'),
});

export interface PublicStatusConfig {
  /** Globs for a Nest's name or id. */
  readonly nests: readonly string[];
  /** Whether Birds are named rather than only counted. */
  readonly hasNames: boolean;
}

export interface WebConfig {
  /** Empty for all addresses; an IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  /** Without a trailing slash; links in messages begin with it. */
  readonly externalUrl: string;
  /**
   * True if the URL was not configured. Then it is what a browser on this machine would open, and messages for people
   * contain no links to the page.
   */
  readonly hasDefaultUrl?: boolean;
  readonly bearerToken: Secret | null;
  readonly access?: AccessConfig;
  /** Absent for plain HTTP. */
  readonly tls?: ServerTls;
  /** What everybody may see; absent for nothing. */
  readonly publicStatus?: PublicStatusConfig;
  readonly enableLifecycle: boolean;
}

export function readWeb(check: Check): WebConfig | undefined {
  const bearerToken = check.secret(['web', 'auth'], 'bearer_token', { mistake: mistakeInToken });
  const access = readAccess(check, bearerToken);
  const tls = readServerTls(check, ['web', 'tls']);
  const web = check.read(webShape.prefault({}), ['web']);
  if (access?.oidc && web && web.external_url === undefined)
    check.problem(['web', 'external_url'], 'is missing: `auth.oidc` sends people back to it');
  const listen = web && parseHostPort(web.listen);
  if (!listen) return undefined;
  return {
    ...listen,
    externalUrl: withoutTrailingSlash(
      web.external_url ?? `${tls ? 'https' : 'http'}://${formatHostPort(reachable(listen))}`,
    ),
    ...(web.external_url === undefined && { hasDefaultUrl: true }),
    bearerToken,
    ...(access && { access }),
    ...(tls && { tls }),
    ...(web.public && {
      publicStatus: { nests: web.public.nests, hasNames: web.public.birds === 'names' },
    }),
    enableLifecycle: web.enable_lifecycle,
  };
}

/** Whether everybody may see the state of the Nest. */
export function isPublicNest({ nests }: PublicStatusConfig, name: string, nestId: string): boolean {
  return nests.some((glob) => matchesGlob(glob, name) || matchesGlob(glob, nestId));
}

/** Whether anybody who can reach the machine can read everything and create silences. */
export function isOpenToAll({ host, bearerToken, access }: WebConfig): boolean {
  return !bearerToken && !access && !isLoopback(host);
}

/** Replaces an address that means all interfaces, since no link can lead to it. */
export function reachable({ host, port }: HostPort): HostPort {
  return { host: ['', '0.0.0.0', '::'].includes(host) ? 'localhost' : host, port };
}
