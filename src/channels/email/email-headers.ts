/** What makes mails of one group a thread, beside their constant subject: ids that anyone can derive again. */

import { createHash } from 'node:crypto';
import type { DigestNotification } from '../../domain/grouping/notification.ts';
import type { Attempt } from '../channel.ts';
import type { Readable } from '../message/digest-view.ts';

interface ThreadHeaders {
  readonly messageId: string;
  readonly inReplyTo?: string;
  readonly references?: string;
}

/**
 * The first mail's Message-ID comes from the thread and whom it goes to, a later one's from its delivery: so a reply
 * knows the first mail without asking anybody, and every try of a delivery has the same id (RFC 5322, 3.6.4).
 */
export function threadHeaders(
  notification: Readable,
  { id, receiver, position }: Pick<Attempt, 'id' | 'receiver' | 'position'>,
  externalUrl: string,
): ThreadHeaders {
  const { thread, threadPosition } = notification.kind === 'digest' ? ownThread(notification) : notification;
  const host = URL.parse(externalUrl)?.hostname || 'localhost';
  const first = `<thread.${digest(thread, receiver, String(position))}@${host}>`;
  if (threadPosition === 0) return { messageId: first };
  return { messageId: `<${digest('delivery', id)}@${host}>`, inReplyTo: first, references: first };
}

/** A digest stands alone. */
function ownThread({ id }: DigestNotification) {
  return { thread: id, threadPosition: 0 };
}

function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
