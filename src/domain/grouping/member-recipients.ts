/**
 * Turns the members of a Nest, as the service names them, into recipients of mails, or says why one cannot be mailed.
 * What the service says must not become two addresses or a header, and what is wrong with one member's address must
 * not keep the mail from the others.
 */
import { domainToASCII } from 'node:url';
import { cap, plainText } from '../../text/plain-text.ts';
import type { LeftOut } from './notification.ts';

interface MemberRecipients {
  /** Each once, with the domain in lower case and in ASCII. */
  readonly to: readonly string[];
  readonly leftOut: readonly LeftOut[];
}

/** RFC 5321, 4.5.3.1.3, without the angle brackets. */
const MAX_ADDRESS_BYTES = 254;
const SHOWN_CODE_POINTS = 100;

/** In the order in which they are tried. */
const MISTAKES: readonly (readonly [of: RegExp, why: string])[] = [
  [/<\?>$/, 'the service does not say whether this member is active'],
  [/^$|<>$/, 'the service has no address of this member'],
  [/\p{Cc}|\p{Cf}/u, 'the address has an invisible character in it'],
  [/[,;].*@|@.*@/, 'this is more than one address'],
  [/\s/u, 'the address has a blank in it'],
];

/** A local part as in RFC 6531 without quotes, and something that may be a domain. */
const ADDRESS = /^([^\s@<>()[\]\\,;:"]+)@([^\s@<>()[\]\\,;:"/?#%]+)$/u;
const DOMAIN = /^(?=.{1,253}$)[^.]{1,63}(?:\.[^.]{1,63})*$/;

/** The service's description of a member. */
interface Member {
  readonly id: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  readonly isActive: boolean | undefined;
}

/** Follows a member of whom the service does not say whether it is active. */
const UNKNOWN = ' <?>';

/**
 * The addresses of the active members, each once and in order. A member without one stands there by name, and one that
 * may be active by its address, both in a form that is never taken for an address.
 */
export function activeMembers(members: readonly Member[]): readonly string[] {
  const active = members.filter(({ isActive }) => isActive !== false);
  const names = active.map(({ id, firstName, lastName, email, isActive }) => {
    const name = email.trim() || `${`${firstName} ${lastName}`.trim() || id} <>`;
    return isActive ? name : `${name}${UNKNOWN}`;
  });
  return [...new Set(names)].toSorted();
}

/** Those of `activeMembers` that are active, and the addresses of those that may be. */
export function byActivity(members: readonly string[]) {
  const [active = [], unknown = []] = [false, true].map((is) =>
    members.filter((one) => one.endsWith(UNKNOWN) === is),
  );
  return { active, unknown: unknown.map((one) => one.slice(0, -UNKNOWN.length)) };
}

/** `own`: the configured addresses that are mailed besides, as they are. */
export function memberRecipients(members: readonly string[], own: readonly string[] = []): MemberRecipients {
  const known = new Set(own.map((one) => recipientOf(/<([^<>]*)>$/.exec(one)?.[1] ?? one).address));
  const to = new Set<string>();
  const leftOut = new Map<string, LeftOut>();
  for (const member of members) {
    const { address, why = '' } = recipientOf(member);
    if (address === undefined) leftOut.set(member, { recipient: plainText(member, SHOWN_CODE_POINTS), why });
    else if (!known.has(address)) to.add(address);
  }
  return { to: [...to, ...own], leftOut: [...leftOut.values()] };
}

/** How much of the texts of all of them together is kept. */
const MAX_WORDS_CODE_POINTS = 8_000;

/** One text about all of them. */
export function leftOutWords(leftOut: readonly LeftOut[] = []): string {
  return cap(leftOut.map(({ recipient, why }) => `${recipient}: ${why}`).join('; '), MAX_WORDS_CODE_POINTS);
}

function recipientOf(member: string): { readonly address?: string; readonly why?: string } {
  const text = member.trim();
  const [, local = '', given = ''] = ADDRESS.exec(text) ?? [];
  const domain = domainToASCII(given).replace(/\.$/, '');
  const address = `${local}@${domain}`;
  const mistake = MISTAKES.find(([of]) => of.test(text));
  if (mistake) return { why: mistake[1] };
  if (local === '') return { why: 'this is no mail address' };
  if (!DOMAIN.test(domain) || /^[\d.]+$/.test(domain))
    return { why: 'the domain of the address is not valid' };
  return Buffer.byteLength(address) > MAX_ADDRESS_BYTES ? { why: 'the address is too long' } : { address };
}
