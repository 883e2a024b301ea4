import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { type HttpReader, httpReader } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { readTemplate, template } from '../../document/read-template.ts';
import { refuseTemplates } from '../../document/refuse-templates.ts';
import { twins } from '../../document/value-shape.ts';
import { mistakeInUrl } from '../../http/web-address.ts';
import type { Template } from '../../templates/liquid.ts';
import { renderTexts } from '../message/render-texts.ts';
import { type PostIntegration, postChannel } from '../post-channel.ts';
import { postKeys } from '../post-config.ts';
import { type ReaderZone, timezoneKey } from '../reader-zone.ts';
import { teamsBody } from './teams-body.ts';

export interface TeamsIntegration extends PostIntegration, ReaderZone {
  readonly kind: 'msteamsv2';
  readonly title?: Template;
  readonly text?: Template;
}

const teamsShape = z
  .strictObject({
    ...twins(
      'webhook_url',
      'Address of the Workflow "Post to a channel when a webhook request is received". Required.',
    ),
    title: template('of the headline'),
    text: template('of the text, without Markdown'),
    ...timezoneKey,
    ...postKeys(true),
  })
  .describe('An Adaptive Card under 28 kB, for a Workflow.');

export const teamsChannel = postChannel<TeamsIntegration>({
  kind: 'msteamsv2',
  audience: 'people',
  pace: { inFlight: 2, claimed: 8 },
  shape: teamsShape,
  reader(check) {
    const http = httpReader(check);
    return (path) => readTeams(check, path, http);
  },
  request({ url, title, text, timezone }, notification, externalUrl) {
    const { texts, notes, error } = renderTexts({ title, text }, notification, externalUrl);
    const body = teamsBody(notification, externalUrl, texts, notes, timezone);
    return { url: url.reveal(), body, templateError: error };
  },
});

function readTeams(check: Check, path: Path, readHttp: HttpReader): TeamsIntegration | undefined {
  refuseTemplates(check, path, teamsShape, ['title', 'text']);
  const url = check.secret(path, 'webhook_url', { isRequired: true, mistake: mistakeInUrl });
  const title = readTemplate(check, [...path, 'title'], 'text');
  const text = readTemplate(check, [...path, 'text'], 'text');
  const http = readHttp(path);
  const teams = check.read(teamsShape, path);
  if (!teams || !url) return undefined;
  return {
    kind: 'msteamsv2',
    url,
    ...(title && { title }),
    ...(text && { text }),
    timeoutMs: teams.timeout,
    ...(http && { http }),
    sendResolved: teams.send_resolved,
    ...(teams.timezone !== undefined && { timezone: teams.timezone }),
  };
}
