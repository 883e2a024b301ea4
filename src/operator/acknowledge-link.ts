/**
 * Creates and reads the links by which the recipient of a message may acknowledge its alert without a token. A link
 * is signed, for one episode of one alert, and valid for a week. It opens a page that asks for confirmation:
 * following the link changes nothing.
 */
import type { Alert } from '../domain/alert/alert.ts';
import { readSignedText, type Secret, signedText } from '../secret.ts';

const VALID_FOR_US = 7 * 86_400_000_000;

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
  return {
    urlOf({ id, startsAtUs }, sentAtUs) {
      const link = signedText(key, 'acknowledge', [id, startsAtUs, sentAtUs + VALID_FOR_US]);
      return `${externalUrl}/acknowledge?link=${link}`;
    },
    read(link, nowUs) {
      const [id = '', startsAtUs = 0, endsAtUs = 0] =
        readSignedText<[string, number, number]>(key, 'acknowledge', link) ?? [];
      return nowUs < endsAtUs ? { id, startsAtUs } : undefined;
    },
  };
}
