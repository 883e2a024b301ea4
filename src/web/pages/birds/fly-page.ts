/** Serves the page that asks before a Bird is started again. Opening it changes nothing. */
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { type Action, isOpen, sayAction, whyNotStarted } from '../../../domain/action/action.ts';
import { birdPath } from '../../../http/page-path.ts';
import type { Signature } from '../../../operator/act-on-alerts.ts';
import { askToFly, mayFly, notAllowed } from '../../../operator/ask-to-fly.ts';
import { isLogin } from '../../access/identify.ts';
import { refuse } from '../../requests/query.ts';
import { birdPlace } from '../../service-place.ts';
import type { PagesOptions } from '../../web-options.ts';
import { checkSignature, fieldsOf, problemOf, signatureForm, signatureOf } from '../frame/form.ts';
import { type Html, pageOf } from '../frame/page.ts';
import { exactly, frame, heading, marked, unknownPage } from '../frame/page-frame.ts';
import { birdTitle, flyQuery, inService, nestLink, said, saidStep } from '../frame/page-words.ts';

const NAME_LENGTH = 200;

export function addFlying(pages: Hono, options: PagesOptions): void {
  const { store, alerting, clock, serviceLinks, act, newId } = options;

  /** `wish` is the same for each try of sending the form, so that a double click starts one Flight. */
  async function show(c: Context, by: Signature, wish: string, problem: string): Promise<Response> {
    const page = pageOf(c, clock);
    const { words } = page;
    const asked = askedFor(c);
    const { bird, flight, open } = await store.transaction(async (tx) => ({
      bird: await tx.birds.find(asked.region, asked.bird),
      flight: asked.flight === '' ? undefined : await tx.birds.findFlight(asked.region, asked.flight),
      open: (await tx.actions.ofBird(asked.region, asked.bird, 10)).find(isOpen),
    }));
    if (!bird) return c.html(unknownPage(page, 'birds', words.birds.unknown, words.birds.unknownLead), 404);
    const { name, scopes } = c.get('identity');
    const why = mayFly(alerting, asked.region)
      ? (whyNotStarted(bird) ??
        (open && isTaken(open) ? sayAction(open, (us) => exactly(page, us)) : undefined) ??
        (scopes.has('fly') ? undefined : words.fly.noScope(name)))
      : notAllowed(asked.region);
    const proposed = open?.state === 'proposed' ? sayAction(open, (us) => exactly(page, us)) : '';
    const title = birdTitle(words, bird.name, bird.birdId);
    const step = flight && (flight.scope || flight.step) ? saidStep(flight) : undefined;
    const lead = html`${proposed} ${words.fly.starts(title)} ${step ? html`${words.fly.again} (${words.fly.failedAt} ${step}).` : `${words.fly.again}.`} ${words.fly.manualOnly}`;
    const body: Html = html`${heading(page, {
      title: html`${words.fly.question} <bdi>${said(title, NAME_LENGTH)}</bdi>`,
      lead: html`${nestLink(page, bird)} · <a href="${page.root}${birdPath(bird.region, bird.birdId)}"><bdi>${title}</bdi></a>${inService(page, serviceLinks(birdPlace(bird)).bird)}`,
      problem,
    })}
<main id="main" class="narrow"><p>${why === undefined ? lead : marked(why)}</p>
${why === undefined ? signatureForm(page, { action: `fly?${flyQuery(asked)}`, ...fieldsBy(by), why: words.fly.why, button: proposed ? words.fly.approve : words.fly.button, hidden: [['wish', wish]], cancel: birdPath(bird.region, bird.birdId) }) : ''}
</main>`;
    const status = problem === '' ? 200 : 400;
    return c.html(
      frame({ title: `nestwatch: ${words.fly.button}`, tone: 'quiet', page, section: 'birds', body }),
      status,
    );
  }

  pages.get('/fly', (c) => show(c, signatureOf(c, new URLSearchParams()), newId(), ''));

  pages.post('/fly', async (c) => {
    const fields = await fieldsOf(c);
    const by = signatureOf(c, fields);
    const { region, bird: birdId, flight: failedFlightId } = askedFor(c);
    const id = fields.get('wish') ?? '';
    const problem = await problemOf(c.get('words'), async () => {
      checkSignature(c.get('words'), by);
      if (!/^[\w-]{1,64}$/.test(id)) throw refuse(c.get('words').fly.oldForm);
      const who = { by: by.createdBy, isLoggedIn: isLogin(c.get('identity')), comment: by.comment };
      const wish = { id, region, birdId, failedFlightId, ...who };
      const taken = await askToFly(store, alerting, wish, clock.nowUs());
      if (!taken.ok) throw refuse(taken.message);
      act(region);
    });
    return problem === '' ? c.redirect(birdPath(region, birdId), 303) : show(c, by, id || newId(), problem);
  });
}

/** Whether a person can neither do it before a rule does nor approve it. */
const isTaken = ({ state }: Action) => state !== 'planned' && state !== 'proposed';

const fieldsBy = ({ createdBy, comment }: Signature) => ({ author: createdBy, comment });

function askedFor(c: Context): Readonly<Record<'region' | 'bird' | 'flight', string>> {
  const { region = '', bird = '', flight = '' } = c.req.query();
  return { region, bird, flight };
}
