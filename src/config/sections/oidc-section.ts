/** Reads `web.auth.oidc`: the identity provider where people log in. */
import * as z from 'zod';
import { checked, duration, twins, words } from '../../document/value-shape.ts';
import { isLoopback, mistakeInBaseUrl } from '../../http/web-address.ts';
import type { Secret } from '../../secret.ts';
import { SCOPES, type Scope } from './scopes.ts';

export type OidcConfig = ReturnType<typeof oidcOf>;

const ALWAYS_ASKED = ['openid', 'profile', 'email'];

const rights = z.array(z.enum(SCOPES)).min(1, { error: `must name at least one of ${SCOPES.join(', ')}` });

export const oidcShape = z
  .strictObject({
    issuer: checked(mistakeInIssuer).describe(
      'Address of the provider, as its discovery document says it. Required.',
    ),
    client_id: words.describe('The id under which nestwatch is registered there. Required.'),
    ...twins('client_secret', 'The secret of that id; leave it out for a public client.'),
    scopes: z
      .array(words)
      .optional()
      .describe(
        `What everybody who logs in may do (${SCOPES.map((one) => `\`${one}\``).join(', ')}); without \`groups\` the default is \`[read, write]\`, otherwise nothing. Any other name is a scope that the provider is asked for besides \`openid\`, \`profile\` and \`email\`, such as \`groups\`.`,
      ),
    groups: z.record(words, rights).prefault({}).describe('What the members of a group may do, by its name.'),
    groups_claim: words.prefault('groups').describe('The claim that lists the groups.'),
    session: duration(60_000, 30 * 86_400_000)
      .prefault('8h')
      .describe('How long somebody stays logged in.'),
  })
  .describe(
    'People log in at an identity provider (OpenID Connect). Register `<external_url>/login/callback` there as the address to return to.',
  );

/** `clientSecret` is null for a public client. */
export function oidcOf(oidc: z.output<typeof oidcShape>, clientSecret: Secret | null) {
  const isRight = (name: string): name is Scope => SCOPES.some((one) => one === name);
  const given = oidc.scopes?.filter(isRight) ?? [];
  const preset: readonly Scope[] = Object.keys(oidc.groups).length === 0 ? ['read', 'write'] : [];
  const asked = oidc.scopes?.filter((name) => !isRight(name)) ?? [];
  const groups = Object.entries(oidc.groups).map(([name, rights]) => [name, new Set<Scope>(rights)] as const);
  return {
    issuer: oidc.issuer,
    clientId: oidc.client_id,
    clientSecret,
    /** What everybody may do who logs in. */
    scopes: new Set<Scope>(given.length > 0 ? given : preset),
    /** What the provider is asked for, separated by blanks. */
    asked: [...new Set([...ALWAYS_ASKED, ...asked])].join(' '),
    /** The claim that lists somebody's groups, and what these may do besides. */
    groupsClaim: oidc.groups_claim,
    groups: new Map(groups),
    sessionMs: oidc.session,
  };
}

function mistakeInIssuer(text: string): string | undefined {
  const mistake = mistakeInBaseUrl(text);
  if (mistake) return mistake;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || isLoopback(hostname) ? undefined : 'must begin with https://';
}
