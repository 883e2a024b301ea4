/** Defines what a channel makes of a request by which its service says that somebody pressed a button of a message. */
import type { Outcome } from './channel.ts';
import type { LinkAction } from './message/frame/links.ts';

/** For how long a button silences. */
export const SILENCE_MS = 2 * 3_600_000;

/** What pressing a button asks for. */
export interface Wish {
  readonly action: LinkAction;
  readonly alertId: string;
  /** The episode of the alert. */
  readonly startsAtUs: number;
  /** For `fly_again`: the Flight that failed, which may be empty. */
  readonly flightId: string;
  /** To whom the message went, where the button belongs. */
  readonly receiver: string;
  readonly channel: string;
}

/** A request that the service has signed and that asks for something. */
export interface Press extends Wish {
  /** A UUID, the same for the same request. */
  readonly id: string;
  /** Who pressed, with the service's id: anybody can choose a name. */
  readonly by: string;
  /** Shows what came of it: to everybody instead of the button, or what cannot be done only to who pressed. */
  show(said: string, isDone: boolean): Promise<Outcome>;
}

/** `by` is known if the service has signed the request. With status 200 nothing was asked for. */
export interface NoPress {
  readonly status: 200 | 400 | 401 | 403;
  readonly message: string;
  readonly by?: string;
}

/** `timestamp`: when it was sent, in seconds, as it was written. */
export type SignedRequest = Readonly<Record<'timestamp' | 'signature' | 'body', string>>;

export interface Presses {
  read(request: SignedRequest, nowUs: number): Press | NoPress;
}
