/** Finds Go template syntax that was pasted from Alertmanager, and says what to write instead. */

/** An action of a Go template: it begins with a dot, a variable, a keyword or one of Go's functions. */
const ACTION =
  /\{\{-?\s*((?:\.|\$|(?:range|template|define|block|with|if|else|end|len|index|printf|and|or|not|eq|ne|toUpper|toLower|safeHtml|reReplaceAll)\b|(?:title|join)\s+[.$"]|routeLabels\s+["`])[^}]*?)\s*-?\}\}/;

const FIELDS: readonly (readonly [from: RegExp, to: string])[] = [
  [/^\$?\.?CommonLabels\.(\w+)/, 'commonLabels.$1'],
  [/^\$?\.?CommonAnnotations\.(\w+)/, 'commonAnnotations.$1'],
  [/^\$?\.?GroupLabels\.(\w+)/, 'groupLabels.$1'],
  [/^\$?\.?Labels\.(\w+)/, 'alert.labels.$1'],
  [/^\$?\.?Annotations\.(\w+)/, 'alert.annotations.$1'],
  [/^\$?\.?Alerts\.Firing/, 'firing'],
  [/^\$?\.?Alerts\.Resolved/, 'resolved'],
  [/^\$?\.?Alerts/, 'alerts'],
  [/^\$?\.?StartsAt/, 'alert.startsAt'],
  [/^\$?\.?EndsAt/, 'alert.endsAt'],
  [/^\$?\.?ExternalURL/, 'externalURL'],
  [/^\$?\.?NotificationReason/, 'notification_reason'],
  [/^\$?\.?RouteLabels\.(\w+)/, 'routeLabels.$1'],
  [/^\$?\.?Receiver/, 'receiver'],
  [/^\$?\.?Status/, 'status'],
];

/** The first action found, as `place: what to write`; undefined if there is none. */
export function findGoSyntax(text: string): string | undefined {
  const match = ACTION.exec(text);
  if (!match) return undefined;
  const before = text.slice(0, match.index).split('\n');
  const place = `line ${before.length}, column ${before.at(-1)!.length + 1}`;
  return `${place}: this is a Go template, and templates here are Liquid: ${insteadOf(match[1]!)}`;
}

function insteadOf(action: string): string {
  const [word = '', ...rest] = action.split(/\s+/);
  const argument = liquid(rest.join(' '));
  switch (word) {
    case 'template':
    case 'block':
    case 'define':
      return 'leave the key out for the built-in message, or write the text here';
    case 'range':
      return argument === 'alerts' || argument === 'firing' || argument === 'resolved'
        ? `write {% for alert in ${argument} %} … {% endfor %}`
        : 'write {% for alert in alerts %} … {% endfor %}';
    case 'if':
    case 'with':
      return `write {% if ${argument || 'status'} %} … {% endif %}`;
    case 'else':
      return 'write {% else %}';
    case 'end':
      return 'write {% endfor %} or {% endif %}';
    case 'routeLabels':
      return `write {{ routeLabels.${/\w+/.exec(rest[0] ?? '')?.[0] ?? 'name'} }}`;
    default:
      return `write {{ ${liquid(word) || 'title'} }}`;
  }
}

/** The field in Liquid; empty if unknown. Go's filters such as `toUpper` are dropped; the author must replace them. */
function liquid(field: string): string {
  for (const [from, to] of FIELDS) {
    const match = from.exec(field);
    if (match) return match[0].replace(from, to);
  }
  return '';
}
