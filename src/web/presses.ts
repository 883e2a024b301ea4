/**
 * Does what somebody asks for by a button of a message in Slack. People click twice, and a request may be repeated, also to
 * another replica or after a start. So an acknowledgement and a silence are stored under an id made of the request, and a
 * Bird is started once for each Flight that failed.
 */
import type { Context } from 'hono';
import { type Press, type Presses, SILENCE_MS } from '../channels/press.ts';
import { sayAction, uuidOf } from '../domain/action/action.ts';
import { formatMatcher } from '../domain/matchers/matcher.ts';
import { codeOf, NestwatchError } from '../errors.ts';
import { findAlert, type Signature, type SilenceEditor } from '../operator/act-on-alerts.ts';
import { askToFly } from '../operator/ask-to-fly.ts';
import { dayAndTime } from '../text/instant-words.ts';
import type { Admission } from './access/admission.ts';
import { answerRefusal } from './access/refusals.ts';
import { sentence } from './pages/frame/form.ts';
import { refuse } from './requests/query.ts';
import type { WebOptions } from './web-options.ts';

interface PressOptions extends Pick<WebOptions, 'store' | 'alerting' | 'changed' | 'clock' | 'report'> {
  readonly presses: Presses;
  readonly silenceEditor: SilenceEditor;
  readonly note: Admission['note'];
}

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
  const { said, isDone } = await done(press, options).then(
    (words) => ({ said: words, isDone: true }),
    (error: unknown) => {
      if (codeOf(error) !== 'usage') throw error;
      return { said: sentence((error as NestwatchError).message), isDone: false };
    },
  );
  await note(c, { name: press.by, by: 'slack' }, isDone ? 200 : 409, `${press.action} ${press.alertId}`);
  const failed = (error: unknown) => report({ what: 'trouble', stage: 'web', error });
  // Slack waits for three seconds only.
  void press.show(said, isDone).then((shown) => {
    if (!('error' in shown)) return;
    failed(new NestwatchError('rejected', `Slack does not show what came of a button: ${shown.error}`));
  }, failed);
  return c.body(null, 200);
}

/** Returns what was done, and throws `usage` with what cannot be done. */
async function done(
  { id, action, alertId, startsAtUs, flightId, by }: Press,
  { store, alerting, silenceEditor, clock, changed }: PressOptions,
): Promise<string> {
  if (action === 'fly_again') {
    const found = await store.transaction((tx) => findAlert(tx, alertId, startsAtUs));
    if (!found.ok) throw refuse(found.message);
    if (found.alert.state !== 'firing') throw refuse('the alert is not firing');
    const { region = '', bird_id: birdId = '' } = found.alert.labels;
    const wish = {
      // The same for whoever presses, in whatever channel, so that one failed Flight is started again once.
      id: uuidOf('slack', alertId, startsAtUs, flightId),
      ...{ region, birdId, failedFlightId: flightId, by, comment: '' },
      // Two approvals need two people who have logged in here: the name in Slack may be that of the same person.
      isLoggedIn: false,
      // The message may be older than what was done about it elsewhere.
      seen: '',
    };
    const taken = await askToFly(store, alerting, wish, clock.nowUs());
    if (!taken.ok) throw refuse(taken.message);
    changed();
    return sayAction(taken.action, dayAndTime);
  }
  const meant = { id: alertId, startsAtUs };
  const signature: Signature = { createdBy: by, comment: '' };
  const isSilence = action === 'silence';
  const change = isSilence
    ? await silenceEditor.silenceFor(meant, signature, SILENCE_MS, id)
    : await silenceEditor.acknowledge([meant], signature, id);
  if (!change.ok) throw refuse(change.message);
  const silences = await store.transaction((tx) => tx.silences.list());
  const silence = silences.find((one) => one.id === change.id);
  if (!silence) throw refuse('it was undone at once');
  const { createdBy, endsAtUs, matchers } = silence;
  if (!isSilence) return `Acknowledged by ${createdBy} at ${dayAndTime(silence.startsAtUs)}.`;
  return `Silenced by ${createdBy} until ${dayAndTime(endsAtUs)}: ${matchers.map(formatMatcher).join(', ')}`;
}
