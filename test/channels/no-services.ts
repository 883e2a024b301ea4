import type { ServiceChannels } from '../../src/channels/services.ts';

const unused = {
  send: () => Promise.reject(new Error('no receiver here has an integration of this kind')),
  close: async () => {},
};

/** Stands in for the channels of Slack and its like where only mails and webhooks are sent. */
export const NO_SERVICES: ServiceChannels = {
  slack: unused,
  msteamsv2: unused,
  pagerduty: unused,
  alertmanager: { ...unused, repeat: unused.send },
};
