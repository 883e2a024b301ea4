/** Serves the page that asks before a Bird is started again. Opening it changes nothing. */
import type { Context } from 'hono';
import { html } from 'hono/html';
import { mayFly } from '../../../config/sections/regions-section.ts';
import { isOpen, sayAction, startFor, whyNotStarted } from '../../../domain/action/action.ts';
import { birdPath, flyPath } from '../../../http/page-path.ts';
import type { Signature } from '../../../operator/act-on-alerts.ts';
import { askToFly, notAllowed } from '../../../operator/ask-to-fly.ts';
import { isLogin } from '../../access/identify.ts';
import { refuse } from '../../requests/query.ts';
import { birdPlace } from '../../service-place.ts';
import type { PagesOptions } from '../../web-options.ts';
import { checkSignature, fieldsOf, problemOf, signatureForm, signatureOf } from '../frame/form.ts';
import { pageOf } from '../frame/page.ts';
import { exactly, marked, titledPage, unknownPage } from '../frame/page-frame.ts';
import { birdTitle, inService, nestLink, said, saidStep } from '../frame/page-words.ts';

const NAME_LENGTH = 200;
/** Of the newest Flights and actions of the Bird. */
const LOOKED_AT = 50;

/** `/fly`. The wish in the form is the same for each try of sending it, so that a double click starts one Flight. */
export async function answerFly(c: Context, options: PagesOptions): Promise<Response> {
  if (c.req.method !== 'POST')
    return show(c, options, signatureOf(c, new URLSearchParams()), options.newId(), '');
  const { store, alerting, clock, changed, newId } = options;
  const words = c.get('words');
  const fields = await fieldsOf(c);
  const by = signatureOf(c, fields);
  const { region, bird: birdId, flight: failedFlightId } = askedFor(c);
  const [id = '', seen = ''] = ['wish', 'seen'].map((field) => fields.get(field) ?? '');
  const problem = await problemOf(words, async () => {
    checkSignature(words, by);
    if (!/^[\w-]{1,64}$/.test(id)) throw refuse(words.fly.oldForm);
    const who = { by: by.createdBy, isLoggedIn: isLogin(c.get('identity')), comment: by.comment };
    const taken = await askToFly(
      store,
      alerting,
      { id, region, birdId, failedFlightId, seen, ...who },
      clock.nowUs(),
    );
    if (!taken.ok) throw refuse(taken.message);
    changed();
  });
  if (problem !== '') return show(c, options, by, id || newId(), problem);
  return c.redirect(birdPath(region, birdId), 303);
}

async function show(
  c: Context,
  { store, alerting, clock, serviceLinks }: PagesOptions,
  { createdBy, comment }: Signature,
  wish: string,
  problem: string,
): Promise<Response> {
  const page = pageOf(c, clock);
  const { words } = page;
  const asked = askedFor(c);
  const { bird, flight, actions, flights } = await store.transaction(async (tx) => ({
    bird: await tx.birds.find(asked.region, asked.bird),
    flight: asked.flight === '' ? undefined : await tx.birds.findFlight(asked.region, asked.flight),
    actions: await tx.actions.ofBird(asked.region, asked.bird, LOOKED_AT),
    flights: await tx.birds.latestFlights(asked.region, asked.bird, LOOKED_AT),
  }));
  if (!bird) return c.html(unknownPage(page, 'birds', words.birds.unknown, words.birds.unknownLead), 404);
  const { name, scopes } = c.get('identity');
  const at = (us: number) => exactly(page, us);
  const open = actions.find(isOpen);
  const stands = open && sayAction(open, at);
  const isProposed = open?.state === 'proposed';
  // A person does it before a rule does, or approves it.
  const taken = isProposed || open?.state === 'planned' ? undefined : stands;
  const forbidden = scopes.has('fly') ? undefined : words.fly.noScope(name);
  const why = mayFly(alerting, asked.region)
    ? (whyNotStarted(bird) ?? taken ?? forbidden)
    : notAllowed(asked.region);
  const title = birdTitle(words, bird.name, bird.birdId);
  const step = flight && (flight.scope || flight.step) ? saidStep(flight) : undefined;
  const before = startFor(asked.flight, actions);
  const inAir = flights.find(({ status }) => status === 'active');
  const hints = [
    ...(before ? [`${words.fly.before} ${sayAction(before, at)}`] : []),
    ...(inAir ? [words.fly.inAir(at(inAir.startedAtUs))] : []),
  ];
  const lead = html`${isProposed ? stands : ''} ${words.fly.starts(title)} ${step ? html`${words.fly.again} (${words.fly.failedAt} ${step}).` : `${words.fly.again}.`} ${words.fly.manualOnly}`;
  const form = {
    ...{ action: flyPath(asked.region, asked.bird, asked.flight), author: createdBy, comment },
    ...{ why: words.alert.reasons, button: isProposed ? words.fly.approve : words.fly.button },
    hidden: [
      ['wish', wish],
      ['seen', before?.id ?? ''],
    ] as const,
    cancel: birdPath(bird.region, bird.birdId),
  };
  const shown = titledPage(page, {
    ...{ section: 'birds', tab: words.fly.button, problem, isNarrow: true },
    title: html`${words.fly.question} <bdi>${said(title, NAME_LENGTH)}</bdi>`,
    lead: html`${nestLink(page, bird)} · <a href="${page.root}${birdPath(bird.region, bird.birdId)}"><bdi>${title}</bdi></a>${inService(page, serviceLinks(birdPlace(bird)).bird)}`,
    main: html`${why === undefined ? hints.map((hint) => html`<p>${hint}</p>`) : ''}<p>${why === undefined ? lead : marked(why)}</p>
${why === undefined ? signatureForm(page, form) : ''}`,
  });
  return c.html(shown, problem === '' ? 200 : 400);
}

function askedFor(c: Context): Readonly<Record<'region' | 'bird' | 'flight', string>> {
  const { region = '', bird = '', flight = '' } = c.req.query();
  return { region, bird, flight };
}
