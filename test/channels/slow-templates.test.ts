import { expect, test } from 'vitest';
import { mailMessage } from '../../src/channels/email/mail-message.ts';
import { renderTexts } from '../../src/channels/message/render-texts.ts';
import { compileTemplate, type Template } from '../../src/templates/liquid.ts';
import { SAMPLE_VARIABLES } from '../../src/templates/variables.ts';
import { group } from './sample-notifications.ts';

const URL = 'https://watch.example.com';
const SLOW = 'it takes the processor for more than 150 ms';
const LOOPS = '{% for a in (1..1000) %}{% for b in (1..1000) %}{% endfor %}{% endfor %}';

/** Slow only if there is more than one alert, which neither of the samples has. */
const slow = (use: 'text' | 'json') =>
  compileTemplate(`{% if alerts.size > 1 %}${LOOPS}{% endif %}"x"`, use, SAMPLE_VARIABLES);

const quick = compileTemplate('{% if true %}quick{% endif %}', 'text', SAMPLE_VARIABLES);
const several = () => {
  const { alerts, ...rest } = group();
  return group({ ...rest, alerts: [alerts[0]!, { ...alerts[0]!, id: 'another' }] });
};

test('the templates of one message share one limit [long]', () => {
  const { texts, notes } = renderTexts({ title: slow('text'), text: quick }, several(), URL);
  expect(texts).toEqual({});
  expect(notes).toEqual(
    ['title', 'text'].map((name) => expect.stringContaining(`The template ${name} failed: ${SLOW}`)),
  );
  expect(renderTexts({ title: quick, text: slow('text') }, several(), URL).texts).toEqual({ title: 'quick' });
  expect(renderTexts({ text: quick }, several(), URL).texts).toEqual({ text: 'quick' });
});

test('a slow JSON template is not given the same time again [long]', () => {
  const ways = [slow('json'), compileTemplate('{% if true %}"y"{% endif %}', 'json', SAMPLE_VARIABLES)];
  const body: Template = { use: 'json', render: (...given) => ways.shift()!.render(...given) };
  const { texts, notes } = renderTexts({ body }, several(), URL);
  expect([texts, notes.length, ways]).toEqual([{}, 1, []]);
});

test('the headers of a mail share the limit of its parts [long]', () => {
  const [subject, text] = [slow('text'), slow('text')];
  const mail = mailMessage(several(), URL, { subject, text, headers: { 'X-Own': quick } });
  expect(mail.headers).toEqual({});
  expect(mail.text).toContain(`The template text failed: ${SLOW}`);
});
