/** Writes what a mail says about its only alert before it shows the message: what it means, or what resolved it. */

import type { NotifiedAlert } from '../../../domain/grouping/notification.ts';
import { dayAndTime } from '../../../text/instant-words.ts';
import { plainText } from '../../../text/plain-text.ts';
import { regionName } from '../../../text/region-name.ts';
import { NAME_CODE_POINTS, subjectOf } from '../alert-subject.ts';
import { hasOwnDescription, stateWords } from '../alert-words.ts';

const SENTENCE_CODE_POINTS = 300;

const CALM = 'The alert was flapping, so it counts as resolved only now that it has stayed calm.';

/** `milder` are the alerts that became this one. */
export function leadOf(alert: NotifiedAlert, milder: readonly NotifiedAlert[]): string[] {
  const {
    summary = '',
    description = '',
    resolved_by: by = '',
    flapping = '',
    switched_off: off = '',
  } = alert.annotations;
  const isOurs = hasOwnDescription(alert.labels);
  if (alert.status === 'resolved') {
    return [...(by === '' ? [] : [sentence(by)]), ...(flapping === '' ? [] : [CALM])];
  }
  const own = isOurs ? description.split('\n').filter((line) => line !== '') : [];
  return [
    ...(saysMore(summary, alert) && !own.some((line) => line.startsWith(summary)) ? [sentence(summary)] : []),
    ...(off === '' ? [] : [sentence(`switched off ${off}`)]),
    ...own.map(sentence),
    ...milder.map((one) => `It was a ${severityOf(one)} since ${dayAndTime(one.startsAtUs)}.`),
    ...(flapping === '' ? [] : [sentence(flapping)]),
  ];
}

function severityOf({ labels }: NotifiedAlert): string {
  return plainText(labels.severity ?? 'warning', 40);
}

/** True if the summary has a word that the first two lines of the mail do not have. */
function saysMore(summary: string, alert: NotifiedAlert): boolean {
  const { nest, nest_id: nestId = '', region = '' } = alert.labels;
  const place = `${plainText(nest || `Nest ${nestId}`, NAME_CODE_POINTS)} ${regionName(region)}`;
  const known = new Set(wordsOf(`${stateWords(alert, false)} ${subjectOf(alert)} ${place} in of a`));
  return wordsOf(plainText(summary, SENTENCE_CODE_POINTS)).some((word) => !known.has(word));
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function sentence(text: string): string {
  const clean = plainText(text, SENTENCE_CODE_POINTS);
  const start = clean.slice(0, 1).toUpperCase() + clean.slice(1);
  return /[.!?…]$/.test(start) ? start : `${start}.`;
}
