/**
 * Reads annotations of rules. Those that contain `{{` or `{%` are Liquid templates: they are tried when the
 * configuration is read, and rendered with the labels of an alert whenever it fires or has news.
 */

import type { Check } from '../../document/check.ts';
import type { Path } from '../../document/problem.ts';
import { compileAt } from '../../document/read-template.ts';
import type { Labels } from '../../domain/alert/alert.ts';
import type { Rule, WhatIsAnnotated } from '../../domain/alert/rule.ts';
import type { Kind } from '../../domain/kinds/kind.ts';
import { compileTemplate, type Template, TemplateError } from '../../templates/liquid.ts';

const SAMPLE_TEXT = 'Flight of Translate blog failed in Marketing (EU)';

/** A rule's annotations: the constant ones, and a function that renders the others. */
export function readAnnotations(
  check: Check,
  path: Path,
  kind: Kind,
  { labels, annotations }: { readonly labels: Labels; readonly annotations: Labels },
): Pick<Rule, 'annotations' | 'writtenAnnotations'> {
  const names = ['alertname', 'severity', ...kind.labels, ...Object.keys(labels)];
  const sample: WhatIsAnnotated = {
    labels: Object.fromEntries(names.map((name) => [name, name])),
    summary: SAMPLE_TEXT,
    description: SAMPLE_TEXT,
  };
  const templates = Object.entries(annotations).flatMap(([name, text]): [string, Template][] => {
    if (!/\{[{%]/.test(text)) return [];
    const template = compileAt(check, [...path, name], () => compile(text, sample));
    return template ? [[name, template]] : [];
  });
  if (templates.length === 0) return { annotations };
  const written = new Set(templates.map(([name]) => name));
  return {
    annotations: Object.fromEntries(Object.entries(annotations).filter(([name]) => !written.has(name))),
    writtenAnnotations: (about) => Object.fromEntries(templates.flatMap((one) => write(one, about))),
  };
}

function compile(text: string, sample: WhatIsAnnotated): Template {
  const template = compileTemplate(text, 'text', sample);
  // A label that no alert of the kind has is a mistake; a label that only some alerts have is empty for the others.
  template.render(sample, 'strict');
  return template;
}

/** Empty if an alert's labels make it exceed a limit: an annotation must not keep an alert from firing. */
function write([name, template]: [string, Template], about: WhatIsAnnotated): [string, string][] {
  try {
    return [[name, template.render(about, 'lenient')]];
  } catch (error) {
    if (error instanceof TemplateError) return [];
    throw error;
  }
}
