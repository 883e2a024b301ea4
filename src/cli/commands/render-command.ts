import { templateVariables } from '../../channels/message/template-variables.ts';
import { sampleNotification } from '../../channels/sample.ts';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { compileTemplate, TemplateError, type TemplateUse } from '../../templates/liquid.ts';
import { SAMPLE_OF_SEVERAL, SAMPLE_VARIABLES } from '../../templates/variables.ts';
import { textOfFile } from '../command-arguments.ts';
import { findConfigFile } from '../config-file.ts';
import { readConfig } from '../read-config.ts';
import { jsonText } from '../terminal-text.ts';
import { printSamples, receiverOf } from './test-receiver-command.ts';

interface RenderOptions {
  readonly configFile?: string | undefined;
  readonly resolved: boolean;
  /** A file with one Liquid template, instead of a receiver. */
  readonly template?: string | undefined;
  /** What the template is for, which determines how values are escaped. */
  readonly use: TemplateUse;
  readonly json: boolean;
}

const EXTERNAL_URL = 'http://127.0.0.1:9465';

/** Prints what a receiver's integrations, or one template, render for a sample. Sends nothing. */
export function render(edge: Edge, receiver: string | undefined, options: RenderOptions): number {
  if ((receiver === undefined) === (options.template === undefined)) {
    throw new NestwatchError('usage', 'name a receiver, or give --template FILE');
  }
  if (receiver !== undefined) {
    const config = readConfig(edge, findConfigFile(edge, options.configFile));
    return printSamples(edge, config, receiverOf(config, receiver), options);
  }
  const file = options.template!;
  try {
    const notification = sampleNotification('sample', options.resolved, edge.clock.nowUs());
    const template = compileTemplate(textOfFile(file), options.use, SAMPLE_VARIABLES, SAMPLE_OF_SEVERAL);
    const text = template.render(templateVariables(notification, EXTERNAL_URL));
    edge.stdout.write(options.json ? jsonText({ text }) : `${text}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new NestwatchError('config_invalid', `${file}: ${error.message}`, { cause: error });
  }
}
