/** Leads from a Bird that failed to the page that asks whether to start it again, and says what was done. */
import { html } from 'hono/html';
import { type Action, sayAction, whyNotStarted } from '../../../domain/action/action.ts';
import type { BirdOverview } from '../../../store/bird-store.ts';
import type { Page } from './page.ts';
import { exactly, type Html } from './page-frame.ts';
import { inService } from './standing-words.ts';

/** A button, or why there is none. `address`: the Bird's or Flight's in the service's own application. */
export function flyLink(
  page: Page,
  bird: BirdOverview,
  failedFlightId: string,
  address: string | undefined,
): Html {
  const why = whyNotStarted(bird);
  if (why !== undefined) return html`<p class="small soft after">${why}${inService(page, address)}</p>`;
  const query = flyQuery({ region: bird.region, bird: bird.birdId, flight: failedFlightId });
  return html`<p class="actions"><a class="button" href="${page.root}fly?${query}">${page.words.fly.button}</a></p>`;
}

/** What was done about a failure, or not, and why. */
export function saidActions(page: Page, actions: readonly Action[]): Html[] {
  return actions.map(
    (one) => html`<p class="small soft"><bdi>${sayAction(one, (us) => exactly(page, us))}</bdi></p>`,
  );
}

export function flyQuery(asked: Readonly<Record<'region' | 'bird' | 'flight', string>>): string {
  return new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== '')).toString();
}
