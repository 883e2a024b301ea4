/**
 * Does what somebody asks for by a button of a message in Slack. People click twice, and a request may be repeated, also to
 * another replica or after a start. So an acknowledgement and a silence are stored under an id made of the request, and a
 * Bird is started once for each Flight that failed.
 */
import type { Context } from 'hono';
import type { Press, Presses } from '../channels/press.ts';
import { sayAction } from '../domain/action/action.ts';
import type { Alert } from '../domain/alert/alert.ts';
import { formatMatcher } from '../domain/matchers/matcher.ts';
import { NestwatchError } from '../errors.ts';
import { findAlert, type Signature, type SilenceEditor } from '../operator/act-on-alerts.ts';
import { askToFly } from '../operator/ask-to-fly.ts';
import { dayAndTime } from '../text/instant-words.ts';
import { uuidOf } from '../text/uuid-of.ts';
import type { Admission } from './access/admission.ts';
import { answerRefusal } from './access/refusals.ts';
import type { WebOptions } from './web-options.ts';

interface PressOptions extends Pick<WebOptions, 'store' | 'alerting' | 'act' | 'clock' | 'report'> {
  readonly presses: Presses;
  readonly silenceEditor: SilenceEditor;
  readonly note: Admission['note'];
}

const SILENCE_MS = 2 * 3_600_000;

export async function answerPress(c: Context, options: PressOptions): Promise<Response> {
  const { presses, clock, report, note } = options;
  const request = {
    timestamp: c.req.header('x-slack-request-timestamp') ?? '',
    signature: c.req.header('x-slack-signature') ?? '',
    body: await c.req.text(),
  };
  const press = presses.read(request, clock.nowUs());
  if ('status' in press) {
    const { status, message, by } = press;
    if (by !== undefined) await note(c, { name: by, by: 'slack' }, status, message);
    return status === 200 ? c.body(null, 200) : answerRefusal(c, status, message);
  }
  const { said, isDone } = await done(press, options);
  await note(c, { name: press.by, by: 'slack' }, isDone ? 200 : 409, `${press.action} ${press.alertId}`);
  // Slack waits for three seconds only.
  void press.show(said, isDone).then(
    (shown) => {
      if (!('error' in shown)) return;
      const why = `Slack does not show what came of a button: ${shown.error}`;
      const error = new NestwatchError('rejected', why);
      report({ what: 'trouble', stage: 'web', error });
    },
    (error: unknown) => report({ what: 'trouble', stage: 'web', error }),
  );
  return c.body(null, 200);
}

interface Done {
  readonly said: string;
  readonly isDone: boolean;
}

const failed = (message: string): Done => ({ said: sentence(message), isDone: false });

async function done(press: Press, options: PressOptions): Promise<Done> {
  const { store, silenceEditor } = options;
  const meant = { id: press.alertId, startsAtUs: press.startsAtUs };
  const by: Signature = { createdBy: press.by, comment: '' };
  if (press.action === 'fly_again') {
    const found = await store.transaction((tx) => findAlert(tx, meant.id, meant.startsAtUs));
    if (!found.ok) return failed(found.message);
    if (found.alert.state !== 'firing') return failed('the alert is not firing');
    return fly(press, found.alert, options);
  }
  const change =
    press.action === 'acknowledge'
      ? await silenceEditor.acknowledge([meant], by, press.id)
      : await silenceEditor.silenceFor(meant, by, SILENCE_MS, press.id);
  if (!change.ok) return failed(change.message);
  const silence = await store.transaction(async (tx) =>
    (await tx.silences.list()).find(({ id }) => id === change.id),
  );
  if (!silence) return failed('it was undone at once');
  const { createdBy, startsAtUs, endsAtUs, matchers } = silence;
  const said =
    press.action === 'acknowledge'
      ? `Acknowledged by ${createdBy} at ${dayAndTime(startsAtUs)}.`
      : `Silenced by ${createdBy} until ${dayAndTime(endsAtUs)}: ${matchers.map(formatMatcher).join(', ')}`;
  return { said, isDone: true };
}

async function fly(press: Press, { labels }: Alert, options: PressOptions): Promise<Done> {
  const { store, alerting, clock, act } = options;
  const { region = '', bird_id: birdId = '' } = labels;
  const { alertId, startsAtUs, flightId } = press;
  // The same for whoever presses, in whatever channel, so that one failed Flight is started again once.
  const id = uuidOf('slack', alertId, startsAtUs, flightId);
  // Two approvals need two people who have logged in here: the name in Slack may be that of the same person.
  const who = { by: press.by, isLoggedIn: false, comment: '' };
  const wish = { id, region, birdId, failedFlightId: flightId, ...who };
  const taken = await askToFly(store, alerting, wish, clock.nowUs());
  if (!taken.ok) return failed(taken.message);
  act(region);
  return { said: sayAction(taken.action, dayAndTime), isDone: true };
}

/** Some messages are sentences already. */
function sentence(message: string): string {
  const text = `${message.charAt(0).toUpperCase()}${message.slice(1)}`;
  return text.endsWith('.') ? text : `${text}.`;
}
