/** Words from the field that the service serves (localisation), for realistic names and messages. */
import type { FailedStep } from './simulated-record.ts';

interface Failure {
  readonly message: string;
  readonly step: FailedStep;
}

export const FAILURES: readonly [Failure, ...Failure[]] = [
  {
    message:
      'Translate: DeepL API error: quota exceeded. The character limit of this billing period is reached.',
    step: { stepId: '2', scope: 'Translate', errorType: 2 },
  },
  {
    message:
      'Get entry: the Contentful space "web-prod" answered 404: entry 5KsDBWseXY6QegucYAoacS not found.',
    step: { stepId: '1', scope: 'Get entry', errorType: 3 },
  },
  {
    message: 'Create project: Phrase TMS API error 401: the access token expired. Reconnect the connection.',
    step: { stepId: '3', scope: 'Create project', errorType: 3 },
  },
  {
    message: 'Download file: The request to https://files.example.com timed out after 100 seconds.',
    step: { stepId: '4', scope: 'Download file', errorType: 5 },
  },
  {
    message:
      'Upload translation: Object reference not set to an instance of an object.\n   at Apps.MemoQ.Actions.FileActions.Upload(UploadRequest input)\n   at Blackbird.Runner.StepRunner.Run(Step step)',
    step: { stepId: '5', scope: 'Upload translation', errorType: 4 },
  },
  {
    message: 'Convert document: the file "catalogue-2026.indd" has 512 MB, the limit is 300 MB.',
    step: { stepId: '2', scope: 'Convert document', errorType: 7 },
  },
];

export const EVENT_ERROR =
  'System.Net.Http.HttpRequestException: Response status code does not indicate success: 403 (Forbidden).\n   at System.Net.Http.HttpResponseMessage.EnsureSuccessStatusCode()\n   at Apps.Contentful.Webhooks.WebhookHandler.SubscribeAsync(Dictionary`2 values)\n   at Blackbird.Events.SubscriptionService.Subscribe(Int64 workflowId)';

export const CONNECTION_LOST = {
  old: {
    retrying: 'Connection check failed. Retrying connection, please wait.',
    exhausted: 'Connection check failed and all retries were exhausted. Please reconnect.',
  },
  new: {
    retrying: 'We noticed a disconnection while periodically checking. Retrying connection, please wait.',
    exhausted:
      'We noticed a disconnection while periodically checking. All retries exceeded. Please reconnect.',
  },
} as const;

export const DEACTIVATED = 'The event has failed 5 times in a row';

export const NEST_NAMES = [
  'Marketing',
  'Production',
  'Sandbox',
  'Product docs',
  'Support',
  'E-commerce',
  'Legal',
  'Mobile apps',
  'Learning',
  'Press',
] as const;

export const TASKS = [
  'Translate blog',
  'Sync CMS → TMS',
  'Review product copy',
  'Localize release notes',
  'Publish help articles',
  'Pre-translate tickets',
  'Import glossary',
  'Export term base',
  'Quality check',
  'Quote new projects',
  'Send files to reviewers',
  'Deliver subtitles',
  'Refresh translation memory',
  'Notify translators',
] as const;

export const LANGUAGES = [
  'DE',
  'FR',
  'ES',
  'IT',
  'NL',
  'PL',
  'PT-BR',
  'JA',
  'KO',
  'ZH-CN',
  'SV',
  'UK',
] as const;

export const CONNECTIONS = [
  'Contentful web-prod',
  'Phrase TMS',
  'DeepL Pro',
  'memoQ server',
  'Zendesk support',
  'SharePoint Legal',
  'Slack localization',
] as const;

export const PEOPLE: readonly (readonly [first: string, last: string])[] = [
  ['Anna', 'Kowalska'],
  ['Bram', 'de Vries'],
  ['Chiara', 'Rossi'],
  ['Dmytro', 'Shevchenko'],
  ['Élodie', 'Martin'],
  ['Farid', 'Haddad'],
  ['Grace', 'Okafor'],
  ['Hiroshi', 'Tanaka'],
];
