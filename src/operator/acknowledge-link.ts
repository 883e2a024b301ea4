/**
 * Creates and reads the links by which the recipient of a message may acknowledge its alert without a token. A link
 * is signed, for one episode of one alert, and valid for a week. It opens a page that asks for confirmation:
 * following the link changes nothing.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Alert } from '../domain/alert/alert.ts';
import type { Secret } from '../secret.ts';

const VALID_FOR_US = 7 * 86_400_000_000;
/** Of the 32 bytes of an HMAC-SHA256: 128 bits cannot be guessed, and the link stays short. */
const SIGNATURE_BYTES = 16;

/** One episode of an alert, from firing to its end. `startsAtUs` tells it from earlier and later ones. */
type Episode = Pick<Alert, 'id' | 'startsAtUs'>;

export interface AcknowledgeLinks {
  /** `sentAtUs` is when the message was written, so that every attempt of a delivery contains the same link. */
  urlOf(episode: Episode, sentAtUs: number): string;
  /** The episode of a `link` parameter; undefined if the link is forged or expired. */
  read(link: string, nowUs: number): Episode | undefined;
}

/** `externalUrl` must have no trailing slash. */
export function createAcknowledgeLinks(key: Secret, externalUrl: string): AcknowledgeLinks {
  const sign = (text: string) =>
    createHmac('sha256', key.reveal()).update(`acknowledge ${text}`).digest().subarray(0, SIGNATURE_BYTES);

  return {
    urlOf({ id, startsAtUs }, sentAtUs) {
      const text = JSON.stringify([id, startsAtUs, sentAtUs + VALID_FOR_US]);
      const link = `${Buffer.from(text).toString('base64url')}.${sign(text).toString('base64url')}`;
      return `${externalUrl}/acknowledge?link=${link}`;
    },
    read(link, nowUs) {
      const [body = '', signature = ''] = link.split('.');
      const text = Buffer.from(body, 'base64url').toString();
      const given = Buffer.from(signature, 'base64url');
      if (given.length !== SIGNATURE_BYTES || !timingSafeEqual(given, sign(text))) return undefined;
      const [id, startsAtUs, endsAtUs] = JSON.parse(text) as [string, number, number];
      return nowUs < endsAtUs ? { id, startsAtUs } : undefined;
    },
  };
}
