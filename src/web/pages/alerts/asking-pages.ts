/**
 * Serves the pages that ask before alerts are acknowledged, or one is resolved. Links in messages and the buttons of
 * other pages lead here.
 */
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import { isEndedByProbe, isResolvable } from '../../../domain/evaluate/decide.ts';
import { isAcknowledgementOver } from '../../../domain/muting/silence.ts';
import { madeTogether } from '../../../domain/muting/silence-change.ts';
import { alertPath } from '../../../http/page-path.ts';
import type { MeantAlert } from '../../../operator/act-on-alerts.ts';
import { plainText } from '../../../text/plain-text.ts';
import { refuse } from '../../requests/query.ts';
import type { PagesOptions } from '../../web-options.ts';
import {
  backTo,
  checkSignature,
  fieldsOf,
  problemOf,
  type SignatureForm,
  sentence,
  signatureForm,
  signatureOf,
} from '../frame/form.ts';
import { alertMessage } from '../frame/items.ts';
import { type Html, type Page, pageOf } from '../frame/page.ts';
import { type TitledPage, titledPage, when, where } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  inReadersZone,
  MESSAGE_LENGTH,
  severityTone,
  severityWord,
  silenceWords,
} from '../frame/page-words.ts';
import { undoForm } from './alert-item.ts';

/** What is asked, and where a person says yes; no `form` where there is nothing to do. */
interface Asked extends Pick<TitledPage, 'title' | 'lead' | 'footing' | 'hasNavigation'> {
  readonly about: readonly AlertSheet[];
  /** Takes back what was done. */
  readonly undo?: Html;
  readonly form?: Pick<SignatureForm, 'action' | 'hidden' | 'cancel' | 'button'>;
}

interface AlertSheet {
  /** Undefined if it is not known. */
  readonly alert: Alert | undefined;
  /** Whether the requested episode still lasts. */
  readonly isOpen: boolean;
  readonly lastEvent: Event | undefined;
}

export function addAsking(
  pages: Hono,
  { store, silenceEditor, alertResolver, links, clock }: PagesOptions,
): void {
  /** The alert of a request, by a signed link or by its id. A link names the episode as well. */
  function requested(c: Context): MeantAlert {
    const { link, began, alert: id = '' } = c.req.query();
    if (link === undefined || c.req.path === '/resolve')
      return began === undefined ? { id } : { id, startsAtUs: Number(began) };
    const episode = links.read(link, clock.nowUs());
    if (!episode) throw refuse(c.get('words').mistakes.oldLink);
    return episode;
  }

  function readAlerts(meant: readonly MeantAlert[]): Promise<AlertSheet[]> {
    return store.transaction(async (tx) => {
      const read: AlertSheet[] = [];
      for (const { id, startsAtUs } of meant) {
        const alert = await tx.alerts.find(id);
        const [last] = await tx.alerts.events(id, 0, 1, alert?.lastSeq);
        const isMeant = startsAtUs === undefined || alert?.startsAtUs === startsAtUs;
        read.push({ alert, lastEvent: last?.event, isOpen: alert?.state === 'firing' && isMeant });
      }
      return read;
    });
  }

  async function askToAcknowledge(c: Context, page: Page, given: URLSearchParams): Promise<Asked> {
    const { acknowledge } = page.words;
    const meant = requested(c);
    const [sheet] = (await readAlerts([meant])) as [AlertSheet];
    const { alert, isOpen } = sheet;
    const isForeign = c.req.query('link') !== undefined;
    const frame = { about: [sheet], ...(isForeign && { hasNavigation: false, footing: html`nestwatch · ` }) };
    // A link of a message leads to what was known.
    if (!alert) {
      if (isForeign) return { ...frame, title: acknowledge.over, lead: acknowledge.wasResolved };
      return { ...frame, ...unknownIn(page, meant.id) };
    }
    if (!isOpen)
      return { ...frame, title: acknowledge.nothing, lead: acknowledge.wasResolved, ...anew(page, alert) };
    const silences = await store.transaction((tx) => tx.silences.list(clock.nowUs()));
    const made = silences.find((one) => one.alertId === alert.id && !isAcknowledgementOver(one, alert));
    if (!made) {
      const cancel = isForeign ? undefined : (backTo(given) ?? alertPath(meant.id));
      const form = { action: addressOf('acknowledge', c), button: page.words.alerts.acknowledge, cancel };
      return { ...frame, title: acknowledge.questionOf(1), lead: acknowledge.lead, form };
    }
    const together = madeTogether(made, silences).length;
    return {
      ...frame,
      title: acknowledge.done(together),
      lead: html`<bdi>${silenceWords(page.words, made)}</bdi>, ${when(page, made.startsAtUs)}. ${acknowledge.endIsSent}`,
      ...(!isForeign && { undo: undoForm(page, made, together) }),
    };
  }

  async function askAboutSeveral(page: Page, given: URLSearchParams, ids: readonly string[]): Promise<Asked> {
    const { acknowledge } = page.words;
    const all = await readAlerts(ids.map((id) => ({ id })));
    const about = all.flatMap((one) => (one.isOpen ? [{ ...one, lastEvent: undefined }] : []));
    if (about.length === 0) return { about, title: acknowledge.nothing, lead: acknowledge.areOver };
    const back = given.get('back');
    const hidden = [
      ...about.flatMap(({ alert }): [string, string][] => [
        ['alert', alert!.id],
        ['began', String(alert!.startsAtUs)],
      ]),
      ...(back === null ? [] : [['back', back] as const]),
    ];
    return {
      about,
      title: acknowledge.questionOf(about.length),
      lead: about.length === 1 ? acknowledge.lead : acknowledge.leadOfMany,
      form: {
        action: 'acknowledge',
        hidden,
        button: page.words.alerts.acknowledge,
        cancel: backTo(given) ?? 'alerts',
      },
    };
  }

  async function askToResolve(c: Context, page: Page, given: URLSearchParams): Promise<Asked> {
    const { resolve, acknowledge } = page.words;
    const meant = requested(c);
    const [sheet] = (await readAlerts([meant])) as [AlertSheet];
    const { alert, isOpen } = sheet;
    const about = [sheet];
    if (!alert) return { about, ...unknownIn(page, meant.id) };
    if (!isOpen) {
      const by = plainText(alert.annotations.resolved_by ?? '', MESSAGE_LENGTH);
      const lead = by ? html`${resolve.ended} <bdi>${by}</bdi>.` : resolve.resolved;
      return { about, title: acknowledge.over, lead, ...anew(page, alert) };
    }
    const isProbed = isEndedByProbe(alert) && !isResolvable(alert);
    return {
      about,
      title: isProbed ? resolve.askAgain : resolve.question,
      lead: isProbed ? resolve.askLead : resolve.lead,
      form: {
        action: addressOf('resolve', c),
        button: isProbed ? page.words.alerts.askAgain : page.words.alerts.resolve,
        cancel: backTo(given) ?? alertPath(meant.id),
      },
    };
  }

  async function show(c: Context, verb: Verb, fields: URLSearchParams, problem = ''): Promise<Response> {
    const page = pageOf(c, clock);
    const given = givenIn(c, fields);
    const ids = verb === 'acknowledge' ? chosenIn(c, fields) : undefined;
    const { about, form, undo, ...asked } = ids
      ? await askAboutSeveral(page, given, ids)
      : await (verb === 'acknowledge' ? askToAcknowledge : askToResolve)(c, page, given);
    const { createdBy: author, comment } = signatureOf(c, fields);
    const { title: tab, why } = page.words[verb];
    const shown = titledPage(page, {
      ...{ section: 'alerts', tab, problem, isNarrow: true, ...asked },
      main: html`${about.map((one) => one.alert && alertSheet(page, one.alert, one))}
${undo ?? ''}
${form ? signatureForm(page, { ...form, author, comment, why }) : ''}`,
    });
    return c.html(shown, problem === '' ? 200 : 400);
  }

  pages.post('/acknowledge-preview', async (c) => show(c, 'acknowledge', await fieldsOf(c)));
  for (const verb of ['acknowledge', 'resolve'] as const) {
    pages.get(`/${verb}`, (c) => show(c, verb, new URLSearchParams()));
    pages.post(`/${verb}`, async (c) => {
      const fields = await fieldsOf(c);
      let done: string | undefined;
      const problem = await problemOf(c.get('words'), async () => {
        const by = signatureOf(c, fields);
        checkSignature(c.get('words'), by);
        const ids = verb === 'acknowledge' ? chosenIn(c, fields) : undefined;
        // Those of the form say which episode of each was shown.
        const began = fields.getAll('began');
        const meant = ids?.map(
          (id, index): MeantAlert =>
            began.length === ids.length ? { id, startsAtUs: Number(began[index]) } : { id },
        ) ?? [requested(c)];
        const [{ id, startsAtUs }] = meant as [MeantAlert];
        const result =
          verb === 'acknowledge'
            ? await silenceEditor.acknowledge(meant, by)
            : await alertResolver.resolve(id, by, startsAtUs);
        if (!result.ok) throw refuse(sentence(result.message));
        // Where nothing was acknowledged now, "Undo" would take back what somebody else did.
        if ('write' in result)
          done = backTo(givenIn(c, fields), result.write.length > 0 ? result.id : undefined);
      });
      return problem === '' ? c.redirect(done ?? addressOf(verb, c), 303) : show(c, verb, fields, problem);
    });
  }
}

type Verb = 'acknowledge' | 'resolve';

/** The fields of a form, and what its address gives. */
function givenIn(c: Context, fields: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...fields, ...new URL(c.req.url).searchParams]);
}

/** The ids of the alerts that were chosen; undefined if the address names a single one. */
function chosenIn(c: Context, fields: URLSearchParams): readonly string[] | undefined {
  if (c.req.query('link') !== undefined) return undefined;
  const ids = new Set(givenIn(c, fields).getAll('alert'));
  return ids.size > 1 || fields.has('alert') ? [...ids] : undefined;
}

/** The address of the same page. It is relative, so that it also works under a proxy's path. */
function addressOf(verb: Verb, c: Context): string {
  return `${verb}${new URL(c.req.url).search}`;
}

/** What the page says instead if the episode that it was about is over, but the alert fires again. */
function anew(
  { words: { acknowledge } }: Page,
  { id, state }: Alert,
): Partial<Pick<Asked, 'title' | 'lead'>> {
  if (state !== 'firing') return {};
  const lead = html`${acknowledge.anewLead} <a href="${alertPath(id)}">${acknowledge.toAlert}</a>`;
  return { title: acknowledge.anew, lead };
}

function unknownIn({ words: { alert } }: Page, id: string): Pick<Asked, 'title' | 'lead'> {
  return id === ''
    ? { title: alert.noneChosen, lead: alert.noneChosenLead }
    : { title: alert.unknown, lead: alert.unknownLead };
}

function alertSheet(page: Page, alert: Alert, { lastEvent }: AlertSheet): Html {
  const { words } = page;
  const { labels, annotations, startsAtUs, state } = inReadersZone(page.zone, alert);
  const isOpen = state === 'firing';
  const severity = labels.severity ?? '';
  const tone = isOpen ? severityTone(severity) : 'quiet';
  return html`<ul class="sheet"><li class="alert ${tone}">
<div class="row stack"><div><h2 class="inline">${alertTitle(words, labels.alertname ?? '', annotations)}</h2> <span class="pill ${tone}">${isOpen ? severityWord(words, severity) : words.alert.isOver}</span></div>
<span class="small soft">${words.alert.began} ${when(page, startsAtUs)}</span></div>
<div>${where(page, labels.region ?? '', alertPlace(labels))}</div>
${alertMessage({ labels, annotations }, lastEvent?.message)}
</li></ul>`;
}
