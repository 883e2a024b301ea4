/**
 * Writes the headers that make the mails of one group a thread, besides their constant subject. All ids can be derived
 * again.
 */

import { createHash } from 'node:crypto';
import { domainToASCII } from 'node:url';
import type { DigestNotification } from '../../domain/grouping/notification.ts';
import type { Attempt } from '../channel.ts';
import type { Readable } from '../message/digest-view.ts';

interface ThreadHeaders {
  readonly messageId: string;
  readonly inReplyTo?: string;
  readonly references?: string;
}

/**
 * The first mail's Message-ID is derived from the thread and its recipients, that of a later one from its delivery. So
 * a reply knows the first mail's id without a lookup, and every try of a delivery has the same id (RFC 5322, 3.6.4).
 */
export function threadHeaders(
  notification: Readable,
  { id, receiver, position }: Pick<Attempt, 'id' | 'receiver' | 'position'>,
  from: string,
): ThreadHeaders {
  const { thread, threadPosition } = notification.kind === 'digest' ? ownThread(notification) : notification;
  const host = domainOf(from);
  const first = `<thread.${digest(thread, receiver, String(position))}@${host}>`;
  if (threadPosition === 0) return { messageId: first };
  return { messageId: `<${digest('delivery', id)}@${host}>`, inReplyTo: first, references: first };
}

/** The sender's domain, as RFC 5322 (3.6.4) advises: other hosts have it in their ids too, and spam filters expect it. */
function domainOf(from: string): string {
  const domain = /@([^@<>]*)>?$/.exec(from)?.[1] ?? '';
  return domainToASCII(domain) || 'localhost';
}

/** A digest is a thread of its own. */
function ownThread({ id }: DigestNotification) {
  return { thread: id, threadPosition: 0 };
}

function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
