/** The words of the pages in German. Bird, Nest and Flight are names of the service and are not translated. */
import type { AlertKind } from '../../../domain/kinds/kinds.ts';
import { isSuppressionReason, type SuppressionReason } from '../../../domain/muting/suppression.ts';
import type { FindingWords } from '../../../health/finding.ts';
import type { NoAlert, NotFired } from '../../../operator/no-alert.ts';
import { durationParts, type Unit } from '../../../text/duration-words.ts';
import { regionName } from '../../../text/region-name.ts';
import { zoneTime } from '../../../text/zone-time.ts';
import type { QueryMistake } from '../../requests/query.ts';
import type { Words } from './english.ts';

const PLURAL = new Intl.PluralRules('de');
const NUMBER = new Intl.NumberFormat('de', { maximumFractionDigits: 1 });

const number = (value: number): string => NUMBER.format(value);

/** `1 Alarm`, `1.234 Alarme`. */
function count(value: number, one: string, many: string): string {
  return `${number(value)} ${PLURAL.select(value) === 'one' ? one : many}`;
}

/** Words that follow a number, without the number. */
function form(value: number, one: string, many: string): string {
  return PLURAL.select(value) === 'one' ? one : many;
}

/** `12 min`, `3 Tage`; `days` is the form of `Tage` that the preposition requires. */
function duration({ count: value, unit }: { count: number; unit: Unit }, days = 'Tage'): string {
  return unit === 'd' ? count(value, 'Tag', days) : `${number(value)} ${unit}`;
}

const lasting = (ms: number): string => duration(durationParts(ms, 'one unit'));
const within = (ms: number): string => `in ${duration(durationParts(ms, 'one unit'), 'Tagen')}`;

const KINDS: Readonly<Record<AlertKind, string>> = {
  FlightFailed: 'Flight fehlgeschlagen',
  BirdDeactivated: 'Bird deaktiviert',
  BirdTriggerFailing: 'Auslöser schlägt fehl',
  ConnectionDisconnected: 'Verbindung getrennt',
  ServiceNotification: 'Hinweis des Dienstes',
  RegionDown: 'Region nicht erreichbar',
  RegionUnauthorized: 'Token abgelehnt',
  FeedBehind: 'Lesen im Rückstand',
  FeedIncomplete: 'Einträge fehlen',
  DeliveryFailing: 'Empfänger nicht erreicht',
  FlightStuck: 'Flight hängt',
  BirdStale: 'Kein Flight in der erwarteten Zeit',
  SchemaDrift: 'Einträge nicht lesbar',
  WatchImpaired: 'Überwachung beeinträchtigt',
};

const REASONS: ReadonlyMap<string, string> = new Map([
  ['first', 'erste Nachricht der Gruppe'],
  ['new_alerts', 'neue Alarme'],
  ['new_events', 'neue Ereignisse'],
  ['resolved', 'beendet'],
  ['repeat', 'Erinnerung'],
]);

const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['over', 'das Ende wurde beobachtet'],
  ['quiet', 'es kam nichts mehr nach'],
  ['superseded', 'es wurde schlimmer, was ein anderer Alarm meldet'],
  ['moved', 'es geht unter anderen Labels oder über eine andere Route weiter'],
  ['gone', 'den Gegenstand gibt es nicht mehr'],
  ['by_hand', 'jemand hat den Alarm beendet'],
]);

const EVENT_TYPES: ReadonlyMap<string, string> = new Map([
  ['flight.failed', 'Flight fehlgeschlagen'],
  ['flight.succeeded', 'Flight erfolgreich'],
  ['flight.cancelled', 'Flight abgebrochen'],
  ['bird_log.Published', 'Bird veröffentlicht'],
  ['bird_log.Saved', 'Bird gespeichert'],
  ['bird_log.Discarded', 'Änderungen verworfen'],
  ['bird_log.Suspended', 'Bird ausgesetzt'],
  ['bird_log.Activated', 'Bird aktiviert'],
  ['bird_log.Deactivated', 'Bird deaktiviert'],
  ['bird_log.EventError', 'Fehler des Auslösers'],
  ['notification.ConnectionDisconnected', 'Verbindung getrennt'],
  ['notification.FlowDeactivated', 'Bird deaktiviert'],
  ['notification.FlowSuspended', 'Bird ausgesetzt'],
]);

const SUPPRESSIONS: Readonly<Record<SuppressionReason, string>> = {
  silenced: 'stummgeschaltet',
  inhibited: 'durch einen anderen Alarm unterdrückt',
  time_interval: 'durch ein Zeitfenster stumm',
  receiver_cap: 'durch die Obergrenze des Empfängers zurückgehalten',
  too_old: 'in einer Zusammenfassung gezählt',
  no_integration: 'keine Integration nimmt es an',
  at_delivery: 'bei der Zustellung ausgelassen',
};

const FEEDS = {
  inventory: 'Das Verzeichnis',
  notification: 'Die Benachrichtigungen',
  bird_log: 'Die Bird-Logs',
  flight: 'Die Flights',
} as const;

const FINDINGS: FindingWords = {
  store_full: () => ({
    title: 'der Datenspeicher ist voll',
    summary: 'Der Datenspeicher kann nicht mehr wachsen: Nichts Neues wird gespeichert oder gesendet.',
    action:
      'Schaffen Sie Platz, wo store.url liegt; danach wird von selbst weitergelesen und alles Versäumte nachgeholt.',
  }),
  store_fails: ({ message }) => ({
    title: 'der Datenspeicher versagt',
    summary: `Der Datenspeicher versagt, darum wird nichts Neues gespeichert oder gesendet: ${message}`,
    action: 'Prüfen Sie Datenträger und Zugriffsrechte; der ganze Fehler steht im Log.',
  }),
  store_away: ({ message }) => ({
    title: 'der Datenspeicher ist nicht erreichbar',
    summary: `Der Datenspeicher antwortet nicht oder lehnt ab, darum wird nichts Neues gespeichert oder gesendet: ${message}`,
    action:
      'Sehen Sie nach dem Server von store.url, oder beenden Sie das Programm, das seine Datei gesperrt hat; dann geht alles von selbst weiter.',
  }),
  disk_low: ({ freeMib, usedMib }) => ({
    title: `nur noch ${number(freeMib)} MiB frei für den Datenspeicher`,
    summary: `Auf dem Datenträger des Speichers sind nur noch ${number(freeMib)} MiB frei; er selbst belegt ${number(usedMib)} MiB.`,
    action:
      'Schaffen Sie Platz, oder bewahren Sie mit store.retention weniger auf: Ist er voll, wird nichts Neues gespeichert oder gesendet.',
  }),
  nobody_notified: () => ({
    title: 'niemand wird benachrichtigt',
    summary:
      'Niemand wird über Alarme benachrichtigt: Keine Route führt zu einem Empfänger, der jemanden erreicht.',
    action:
      'Geben Sie einem Empfänger email_configs, webhook_configs oder Ähnliches, und nennen Sie ihn in einer Route.',
  }),
  dead_end: ({ receiver, path }) => ({
    title: `Empfänger ${receiver} benachrichtigt niemanden`,
    summary: `Alarme von ${path} gehen an den Empfänger ${receiver}, der niemanden benachrichtigt.`,
    action:
      'Geben Sie ihm eine Integration, etwa email_configs. Soll er niemanden benachrichtigen, nennen Sie ihn null oder blackhole.',
  }),
  config_refused: ({ mistakes, first, replicas, many }) => ({
    title: `die neue Konfiguration gilt nicht${replicas && ` auf ${many ? 'den Replikaten' : 'dem Replikat'} ${replicas}`}`,
    summary: `Die Konfigurationsdatei ${replicas && `${many ? 'der Replikate' : 'des Replikats'} ${replicas} `}hat ${mistakes === 1 ? 'einen Fehler' : `${number(mistakes)} Fehler, den ersten`} bei ${first}`,
    action: 'Es gilt, was vorher gelesen wurde. Alle Fehler zeigt: nestwatch check-config',
  }),
  secret_unread: ({ path, problem }) => ({
    title: `die Datei von ${path} ist unbrauchbar`,
    summary: `Die Datei von ${path} ist unbrauchbar, darum gilt weiter, was zuletzt gelesen wurde: ${ended(problem)}`,
    action: 'Legen Sie dort eine lesbare Datei ab; sie wird bei jedem Gebrauch gelesen.',
  }),
  configs_differ: ({ replicas, many, newest }) => ({
    title: `${many ? 'die Replikate' : 'das Replikat'} ${replicas} ${many ? 'haben' : 'hat'} eine andere Konfiguration als ${newest}`,
    summary: `${many ? 'Die Replikate' : 'Das Replikat'} ${replicas} ${many ? 'haben' : 'hat'} eine andere Konfiguration als das Replikat ${newest}, das seine zuletzt gelesen hat: Was beobachtet und wer benachrichtigt wird, hängt davon ab, welches es tut.`,
    action:
      'Geben Sie allen dieselbe Datei, und lassen Sie jedes sie neu lesen. Was gilt, zeigt: nestwatch config show',
  }),
  receiver_failing: ({ receiver, integration, others, failing, among, failures, lastError }) => ({
    title: `Empfänger ${receiver} nimmt ${failing === among ? '' : `über ${failing === 1 ? integration : `${failing} von ${among} Integrationen`} `}nichts an`,
    summary: `Empfänger ${receiver} nimmt über ${others && `${others} nichts an, auch nicht über `}${integration}${others ? '' : ' nichts an'}, ${count(failures, 'Versuch', 'Versuche')} in Folge${lastError ? `: ${lastError}` : '.'}`,
    action: `Es wird von selbst weiter versucht. Zum Ausprobieren: nestwatch test-receiver ${receiver}`,
  }),
  deliveries_dead: ({ receiver, count: dead }) => ({
    title: `${count(dead, 'Nachricht', 'Nachrichten')} an ${receiver} aufgegeben`,
    summary: `In den letzten sieben Tagen ${form(dead, 'wurde', 'wurden')} ${count(dead, 'Nachricht', 'Nachrichten')} an den Empfänger ${receiver} aufgegeben.`,
    action:
      'Anzeigen mit: nestwatch deliveries --dead. Beheben Sie die Ursache beim Empfänger und stellen Sie sie dann erneut zu mit: nestwatch deliveries retry ID',
  }),
  quarantined: ({ region, feed, count: entries }) => ({
    title: `${count(entries, 'Eintrag', 'Einträge')} von ${regionName(region)} nicht lesbar`,
    summary: `${count(entries, 'Eintrag', 'Einträge')} von ${regionName(region)} (${feed}) ${form(entries, 'konnte', 'konnten')} in der letzten Stunde nicht gelesen werden: Niemand erfährt, was darin steht.`,
    action: 'Das Log nennt die Ursache. Hat der Dienst seine Form geändert, aktualisieren Sie nestwatch.',
  }),
  set_aside: ({ count: things, first }) => ({
    title: 'etwas wurde beiseitegelegt',
    summary: `${form(things, 'Eine Sache ist', `${number(things)} Sachen sind`)} fehlgeschlagen und ${form(things, 'wurde', 'wurden')} beiseitegelegt, alles Übrige läuft weiter: ${first}`,
    action:
      'GET /api/v1/status führt sie mit Gründen als set_aside auf: Beheben oder entfernen Sie, was dort genannt ist.',
  }),
  region_down: ({ region, said }) => ({
    title: `${regionName(region)} ist nicht erreichbar`,
    summary: `${regionName(region)} antwortet nicht: ${ended(said)}`,
    action: `Prüfen Sie regions.${region}.base_url und den Weg dorthin. Es wird weiter versucht, bis eine Antwort kommt; alles Versäumte wird dann gelesen.`,
  }),
  region_unauthorized: ({ region, said }) => ({
    title: `${regionName(region)} lehnt das Token ab`,
    summary: `${regionName(region)} lehnt das Token ab: ${ended(said)}`,
    action: `Erstellen Sie als Organisations-Admin ein neues API-Token und setzen Sie es bei regions.${region}.token ein. Alles Versäumte wird dann gelesen.`,
  }),
  unlisted: ({ region, what, said, address, known }) => {
    const name = regionName(region);
    const rest = known > 0 ? 'nur schon bekannte Birds werden überwacht' : 'nichts davon wird überwacht';
    const unlisted = `${what} von ${name} lassen sich nicht auflisten`;
    return {
      title: `die ${unlisted}`,
      summary: `Die ${unlisted}, ${rest}: ${ended(said)}`,
      action:
        what === 'Nests'
          ? `Prüfen Sie regions.${region}.base_url: GET ${address}/nests muss die Liste aller Nests liefern. Alles Versäumte wird dann gelesen.`
          : `Prüfen Sie regions.${region}.base_url, und ob das Token Birds lesen darf: GET ${address}/nests/ID/birds muss die Liste der Birds eines Nests liefern. Alles Versäumte wird dann gelesen.`,
    };
  },
  first_pass: ({ region, progress }, instant) => {
    const until = progress?.untilUs === undefined ? '' : `, fertig etwa ${instant(progress.untilUs)}`;
    const far = progress
      ? `${number(progress.read)} von ${count(progress.streams, 'Stream', 'Streams')} gelesen${until}`
      : 'Nests und Birds werden aufgelistet';
    return {
      title: `erstes Lesen von ${regionName(region)} läuft`,
      summary: `Das erste Lesen von ${regionName(region)} seit dem Start läuft: ${far}.`,
      action: 'Bitte warten: Bis dahin kann etwas geschehen sein, das noch nicht gesehen wurde.',
    };
  },
  no_birds: ({ region, nests, excludedNests, globs }) => {
    const [why, action] =
      nests > 0
        ? [
            `${form(nests, 'das eine Nest dort hat', `die ${number(nests)} Nests dort haben`)} keine Birds`,
            'Sollten dort welche sein, prüfen Sie, wessen Token es ist.',
          ]
        : excludedNests > 0
          ? [
              `von ${count(excludedNests, 'Nest', 'Nests')} passt keines zu nests.include (${globs}), ohne ausgeschlossen zu sein`,
              `Berichtigen Sie regions.${region}.nests: Muster passen auf Name oder ID eines Nests, Groß- und Kleinschreibung zählt.`,
            ]
          : [
              'es ist kein Nest aufgelistet',
              'Prüfen Sie, wessen Token es ist: Es muss einem Organisations-Admin gehören.',
            ];
    return {
      title: `kein Bird in ${regionName(region)} wird überwacht`,
      summary: `Kein Bird in ${regionName(region)} wird überwacht: ${why}.`,
      action: action!,
    };
  },
  overdue: ({ region, feed, streams, late, oldestMs }) => {
    const name = regionName(region);
    const which =
      streams === 1 ? FEEDS[feed] : `${FEEDS[feed]} von ${number(late)} der ${number(streams)} Birds`;
    const age =
      oldestMs === undefined
        ? 'einige wurden nie gelesen'
        : `die älteste Lesung ist ${lasting(oldestMs)} alt`;
    return {
      title: `${name} ist im Rückstand`,
      summary: `${which} in ${name} ${feed === 'inventory' ? 'wurde' : 'wurden'} nicht rechtzeitig gelesen: ${age}.`,
      action: `Schlägt das Lesen fehl, nennt das Log den Grund. Sonst erhöhen Sie regions.${region}.requests_per_second, soweit der Dienst es zulässt, überwachen weniger Nests oder erhöhen poll.max_interval.`,
    };
  },
  being_proven: ({ region }) => ({
    title: `Vollständigkeit von ${regionName(region)} wird geprüft`,
    summary: `Seit dem Start wurde alles von ${regionName(region)} gelesen; dass nichts fehlt, wird noch geprüft.`,
    action: 'Bitte warten: Die Prüfung vergleicht das Gespeicherte mit den Zählungen des Dienstes.',
  }),
  not_proven: ({ region, feed, sinceUs }, instant) => ({
    title: `Vollständigkeit von ${regionName(region)} nicht belegt`,
    summary: `${FEEDS[feed]} von ${regionName(region)} sind ${sinceUs === undefined ? 'noch gar nicht' : `seit ${instant(sinceUs)} nicht mehr`} als vollständig belegt.`,
    action:
      'Die Prüfungen holen auf, wo Anfragen frei sind; ein Alarm FeedIncomplete nennt, wo Einträge fehlen.',
  }),
  clock_wrong: ({ region, isServers, byMs, isBehind }) => {
    const whose = isServers ? 'des Datenbankservers' : 'dieses Rechners';
    return {
      title: `die Uhr${isServers ? ` ${whose}` : ''} geht ${lasting(byMs)} ${isBehind ? 'nach' : 'vor'}`,
      summary: `Die Uhr ${whose} geht gegenüber ${regionName(region)} ${lasting(byMs)} ${isBehind ? 'nach' : 'vor'}.`,
      action: `Stellen Sie die Uhr ${whose}, am besten über NTP: Altersangaben, Stummschaltungen und Zusammenfassungen richten sich nach ihr.`,
    };
  },
};

/** Adds the full stop of a sentence, unless the text already ends with one. */
function ended(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function whyNoAlert(
  noAlert: NoAlert,
  instant: (us: number) => string = (us) => zoneTime(us, 'de', 'UTC'),
): string {
  switch (noAlert.why) {
    case 'nest_excluded':
      return 'Sein Nest wird nicht überwacht: `nests.include` und `exclude` der Region lassen es aus.';
    case 'no_kind':
      return `Keine Art von Alarm entsteht aus ${noAlert.type}.`;
    case 'no_rule':
      return `Keine Regel für ${noAlert.kinds} passt darauf.`;
    case 'past': {
      const { of, lasting } = noAlert;
      const what = of === 'Bird' ? 'den Bird' : 'die Region';
      const past = `Es geschah, bevor nestwatch ${what} zum ersten Mal überwachte`;
      return lasting
        ? `${past}, darum führt kein Alarm es auf; aber was es sagt, galt da noch, und ${lasting.alertname} meldet es (${lasting.id}).`
        : `${past}: Vergangenes löst keinen Alarm aus.`;
    }
    case 'not_fired':
      return noAlert.each.map((one) => notFired(one, instant)).join(' ');
  }
}

function notFired(
  { kind, forMs, firesAtUs, isCounted, reasons }: NotFired,
  instant: (us: number) => string,
): string {
  const lasted = `${duration(durationParts(forMs, 'exact'))} angehalten hat, wie \`for\` seiner Regel verlangt`;
  if (firesAtUs !== undefined) {
    return `${kind} wird ${instant(firesAtUs)} aktiv, wenn es ${lasted}, sofern es nicht vorher endet.`;
  }
  if (isCounted) {
    const also = forMs > 0 ? ` und es ${lasted}` : '';
    return `Es zählt für ${kind}, das aktiv wird, sobald die Schwelle seiner Regel erreicht ist${also}.`;
  }
  const why = {
    threshold: 'die Schwelle seiner Regel wurde nicht erreicht',
    start_unknown:
      'der Dienst nennt seinen Beginn nicht, sodass es älter sein kann als die Überwachung der Region',
    too_short: `es war vorbei, bevor es ${lasted}`,
    over: 'was später kam, hatte es schon beendet',
  };
  return `${kind} wurde dadurch nicht aktiv: ${reasons.map((reason) => why[reason]).join(', oder ')}.`;
}

function queryMistake(mistake: QueryMistake): string {
  switch (mistake.says) {
    case 'choice':
      return `${mistake.name}: muss eines von diesen sein: ${mistake.choices}`;
    case 'instant':
      return `${mistake.name}: muss eine Dauer wie 2h sein, oder ein Zeitpunkt wie 2026-07-02T13:59:34Z`;
    case 'zone':
      return `${mistake.name}: muss eine Zeitzone wie Europe/Amsterdam sein`;
    case 'too_long':
      return `${mistake.name}: länger als ${number(mistake.most)} Zeichen`;
    case 'order':
      return 'since: muss vor until liegen';
  }
}

export const GERMAN: Words = {
  language: 'de',
  name: 'Deutsch',

  time: {
    ago: (us, nowUs) =>
      us > nowUs + 60e6
        ? within((us - nowUs) / 1000)
        : `vor ${duration(durationParts((nowUs - us) / 1000, 'one unit'), 'Tagen')}`,
    lasting,
    soFar: (ms) => duration(durationParts(ms, 'one unit'), 'Tagen'),
    exact: (ms) => duration(durationParts(Math.round(ms), 'exact')),
    took: (ms) => duration(durationParts(ms, 'rounded')),
    within,
    instant: (us, zone) => zoneTime(us, 'de', zone),
    percent: (ratio) => `${number(Math.floor(ratio * 1000) / 10)} %`,
  },

  frame: {
    skip: 'Zum Inhalt springen',
    pages: 'Seiten',
    overview: 'Übersicht',
    alerts: 'Alarme',
    birds: 'Birds',
    nests: 'Nests',
    events: 'Ereignisse',
    deliveries: 'Zustellungen',
    silences: 'Stummschaltungen',
    config: 'Konfiguration',
    search: 'Suchen',
    pause: 'Aktualisierung anhalten',
    searchHint: 'Bird, Flight, ID, Meldung',
    asJson: 'als JSON',
    times: (zone) => `Zeiten in ${zone}`,
    metrics: 'Metriken',
    running: (version, lasted) => `nestwatch ${version}, läuft seit ${lasted}`,
    allRegions: 'alle Regionen',
    somebody: 'jemand',
  },

  overview: {
    live: (seconds) => `aktualisiert sich alle ${seconds} s`,
    pause: 'anhalten',
    paused: 'angehalten',
    resume: 'fortsetzen',
    open: 'Wer diese Adresse erreicht, kann alles lesen und Alarme stummschalten: Setzen Sie `web.auth`, oder lauschen Sie auf 127.0.0.1.',
    mistakes: {
      before: 'Die Konfigurationsdatei hat Fehler. Es gilt weiter die Fassung, gelesen',
      after: ', denn:',
    },
    needsRestart: 'In der Konfiguration geändert, aber erst nach einem Neustart wirksam:',
    alerts: 'Aktive Alarme',
    noAlerts: 'Keine aktiven Alarme.',
    moreAlerts: (more) => `und ${count(more, 'weiterer Alarm', 'weitere Alarme')}`,
    resolved: 'Kürzlich beendet',
    resolvedAt: 'beendet',
    noSilences: 'Keine Stummschaltungen.',
    newSilence: 'neue Stummschaltung',
    more: (more) => `und ${number(more)} weitere:`,
    allSilences: 'alle anzeigen',
    regions: 'Regionen',
    replicas: {
      title: 'Replikate',
      name: 'Rechner',
      version: 'Version',
      runs: 'Läuft',
      does: 'Tut',
      region: (region: string, epoch: number): string => `liest ${region} (Epoche ${epoch})`,
      alerting: 'meldet',
      nothing: 'antwortet und sendet',
      leaving: 'hält an',
      silent: 'meldet sich nicht',
      answers: 'dieses',
    },
    size: (birds, nests) => `${count(birds, 'Bird', 'Birds')} in ${count(nests, 'Nest', 'Nests')}`,
    rate: (requests) => `bis zu ${count(requests, 'Anfrage', 'Anfragen')} pro Sekunde`,
    lasting: 'seit',
    feed: 'Feed',
    streams: 'Streams',
    oldestReading: 'Älteste Lesung',
    notYet: 'noch nicht',
    nothingToRead: 'nichts zu lesen',
    activeFlights: (active) => `${number(active)} aktiv`,
    overdue: (late) => `${number(late)} überfällig`,
    events: 'Neueste Ereignisse',
    noEvents:
      'Noch keine Ereignisse. Hier erscheint jeder Flight, der endet, jeder Eintrag eines Bird-Logs und jede Benachrichtigung.',
    deliveries: 'Neueste Zustellungen',
    noDeliveries: 'Es wurde noch nichts gesendet.',
    by: 'über',
    now: 'jetzt',
    tries: (tries) => count(tries, 'Versuch', 'Versuche'),
  },

  kind: (alertname) => (isKind(alertname) ? KINDS[alertname] : undefined),
  eventType: (type) => EVENT_TYPES.get(type),
  suppression: (reason) => (isSuppressionReason(reason) ? SUPPRESSIONS[reason] : reason.replaceAll('_', ' ')),

  whyNoAlert,

  feeds: {
    notification: 'Benachrichtigungen',
    bird_log: 'Bird-Logs',
    flight: 'Flights',
    inventory: 'Nests und Birds',
  },
  severities: { critical: 'kritisch', warning: 'Warnung', info: 'Hinweis' },
  birdStatuses: { active: 'aktiv', unpublished: 'unveröffentlicht', suspended: 'ausgesetzt' },
  regionStates: {
    starting: 'Startet',
    unlisted: 'Nicht auflistbar',
    up: 'Erreichbar',
    down: 'Nicht erreichbar',
    unauthorized: 'Token abgelehnt',
  },
  deliveryStates: {
    pending: 'Wartet',
    leased: 'Wird gesendet',
    delivered: 'Zugestellt',
    retry: 'Neuer Versuch',
    ambiguous: 'Unklar, neuer Versuch',
    dead: 'Aufgegeben',
    suppressed: 'Nicht nötig',
  },

  findings: FINDINGS,

  health: {
    quiet: 'Alles ruhig',
    unknown: 'Der Datenspeicher antwortet nicht',
    title: 'Was die Überwachung beeinträchtigt',
    active: (active) => count(active, 'aktiver Alarm', 'aktive Alarme'),
    more: (more) => `${number(more)} weitere`,
    critical: 'kritisch',
    warning: 'Warnung',
    info: 'vorübergehend',
    lasting: 'seit',
    watching: (birds, regions) =>
      `${count(birds, 'Bird', 'Birds')} in ${count(regions, 'Region', 'Regionen')} ${form(birds, 'wird', 'werden')} überwacht.`,
    unread: (regions) => `Noch nicht gelesen: ${regions}.`,
    allRead: 'Die älteste Lesung war',
    acknowledged: (known) =>
      `${count(known, 'Alarm ist', 'Alarme sind')} quittiert, stummgeschaltet oder unterdrückt.`,
  },

  birds: {
    bird: 'Bird',
    nest: 'Nest',
    birds: 'Birds',
    standing: 'Zustand',
    status: 'Status',
    trigger: 'Auslöser',
    latest: 'Letzte Flights',
    last: 'Letzter',
    never: 'keine gesehen',
    alerts: 'Alarme',
    over: 'Beendet',
    alerting: 'Mit Alarm',
    failing: 'Fehlschlagend',
    off: 'Abgeschaltet',
    flights: 'Flights in 24 h',
    success: 'Erfolg in 24 h',
    none: 'Keine passenden Birds.',
    noNests: 'Keine passenden Nests.',
    publicPage: 'öffentliche Seite',
    lead: 'Zuerst die mit Problemen, dann die mit den jüngsten Flights.',
    nestsLead:
      'Die schlimmsten zuerst: Alarme, dann Birds mit fehlgeschlagenem letzten Flight, dann abgeschaltete Birds.',
    standings: {
      alerting: 'Alarm',
      acknowledged: 'Alarm, quittiert',
      failing: 'Letzter Flight fehlgeschlagen',
      off: 'Abgeschaltet',
      well: 'In Ordnung',
    },
    succeeded: (flights) => `${number(flights)} erfolgreich`,
    failed: (flights) => `${number(flights)} fehlgeschlagen`,
    cancelled: (flights) => `${number(flights)} abgebrochen`,
    active: (flights) => `${number(flights)} aktiv`,
    other: (flights) => `${number(flights)} mit anderem Status`,
    outOf: (flights) => `von ${count(flights, 'Flight', 'Flights')}`,
    noFlights: 'Es wurden keine Flights gesehen.',
    unknown: 'Diesen Bird kennt nestwatch nicht',
    unknownLead:
      'Der Dienst hat ihn nicht aufgelistet, oder länger nicht, als der Datenspeicher zurückreicht.',
    notListed: 'Der Dienst listet ihn nicht mehr auf.',
    changed: 'geändert',
    next: 'Nächster Flight',
    every: (every) => `etwa alle ${every}`,
    overdue: 'Da wäre er fällig gewesen.',
    switchedOff: 'Abgeschaltet',
    by: (name) => `von ${name}`,
    successRate: 'Erfolg',
    hours: (hours) => (hours <= 24 ? `${hours} h` : count(hours / 24, 'Tag', 'Tage')),
    durations: 'Dauer',
    p50: (within50) => `die Hälfte in höchstens ${within50.replace(/ Tage$/, ' Tagen')}`,
    p95: (within95) => `95 % in höchstens ${within95.replace(/ Tage$/, ' Tagen')}`,
    ofSucceeded: (flights) =>
      flights === 1
        ? 'der letzte erfolgreiche Flight'
        : `die letzten ${number(flights)} erfolgreichen Flights`,
    sparkline: (least, most) => `Dauern zwischen ${least} und ${most}, die älteste zuerst`,
    legend:
      'Jeder Balken ist ein Flight, der neueste steht rechts: nach oben bei Erfolg, umso höher, je länger er dauerte; nach unten bei einem Fehlschlag.',
    asTable: 'Als Tabelle',
    causes: 'Warum Flights fehlschlugen',
    cause: 'Fehler',
    times: 'Anzahl',
    lastSeen: 'Zuletzt',
    noMessage: 'ohne Meldung',
    log: 'Log',
    noLog: 'Es wurde kein Eintrag seines Logs gesehen.',
    allEvents: 'alle Ereignisse',
    inService: 'Im Dienst öffnen',
  },

  flight: {
    flight: 'Flight',
    statuses: {
      succeeded: 'Flight erfolgreich',
      failed: 'Flight fehlgeschlagen',
      cancelled: 'Flight abgebrochen',
      active: 'Flight läuft',
    },
    words: {
      succeeded: 'erfolgreich',
      failed: 'fehlgeschlagen',
      cancelled: 'abgebrochen',
      active: 'aktiv',
    },
    otherStatus: (status) => `Flight: ${status}`,
    started: 'Beginn',
    ended: 'Ende',
    took: 'Dauer',
    underWay: 'bisher',
    notKnown: 'unbekannt',
    step: 'Schritt',
    scope: 'Bereich',
    errorType: 'Art des Fehlers',
    error: 'Fehler',
    noError: 'Der Dienst gab keine Meldung.',
    noEvent: 'Das Ereignis seines Endes ist nicht gespeichert.',
    log: 'Sein Log im Dienst',
    readLog: 'Beim Dienst abfragen',
    readAgain: 'Erneut abfragen',
    noLog: 'Der Dienst liefert keine Einträge.',
    olderEntries: (entries) =>
      `${count(entries, 'älterer Eintrag wird', 'ältere Einträge werden')} nicht gezeigt.`,
    entry: 'Eintrag',
    entries: {
      start: 'Start',
      end: 'Landung',
      stopped: 'Angehalten',
      log: 'Log',
      error: 'Fehler',
      other: 'Sonstiges',
    },
    message: 'Meldung',
    skipped: 'übersprungen',
    retried: 'erneut versucht',
    alerts: 'Alarme',
    noAlerts: 'Er gehört zu keinem gespeicherten Alarm.',
    notified: 'Wer benachrichtigt wurde',
    nobody: 'Niemand wurde darüber benachrichtigt.',
    withheld: 'Nicht benachrichtigt',
    receiver: 'Empfänger',
    by: 'Über',
    state: 'Zustand',
    at: 'Zeit',
    why: 'Warum, oder warum nicht: der ganze Weg',
    unknown: 'Dieser Flight ist nicht gespeichert',
    unknownLead:
      'Er wurde nicht gesehen, oder er endete vor längerer Zeit, als der Datenspeicher zurückreicht.',
  },

  list: {
    filter: 'Filter',
    show: 'Anzeigen',
    showAll: 'Alle anzeigen',
    any: 'alle',
    region: 'Region',
    nest: 'Nest',
    bird: 'Bird',
    flight: 'Flight',
    name: 'Name',
    severity: 'Schwere',
    text: 'Text',
    since: (zone) => `Von (${zone})`,
    until: (zone) => `Bis (${zone})`,
    nestHint: 'Name oder ID',
    birdHint: 'Name oder ID',
    flightHint: 'ID',
    textHint: 'beliebige Wörter',
    sinceHint: '2h, 2026-07-02',
    untilHint: '30m, 2026-07-03',
    pages: 'Weitere Seiten',
    first: 'Erste Seite',
    next: 'Nächste Seite',
    nothing: 'Nichts passt.',
    yes: 'ja',
    no: 'nein',
  },

  alerts: {
    state: 'Zustand',
    stateFiring: 'aktiv',
    stateResolved: 'beendet',
    firing: (firing) => (firing === 0 ? 'Keiner ist aktiv.' : `${number(firing)} aktiv.`),
    none: 'Keine aktiven Alarme.',
    acknowledged: 'Quittiert',
    silenced: 'Stummgeschaltet',
    inhibited: 'Unterdrückt',
    inhibitedWhy: 'Niemand wird benachrichtigt, solange ein Alarm aktiv ist, der diesen erklärt.',
    resolved: 'Beendet',
    acknowledge: 'Quittieren',
    silence: 'Stummschalten',
    resolve: 'Beenden',
    askAgain: 'Erneut prüfen',
    forTime: 'seit',
    last: 'zuletzt',
    lasted: (lasted) => `Dauer ${lasted}`,
    resolvedAt: 'beendet',
    each: (each) => `Alle ${number(each)} einzeln anzeigen`,
  },

  events: {
    lead: 'Die neuesten zuerst. Jedes hat eine Seite, die zeigt, was daraus wurde.',
    feed: 'Feed',
    type: 'Art',
    lookFurther: 'Unter den bisher durchsuchten Ereignissen passt keines; es gibt ältere.',
  },

  event: {
    unknown: 'Dieses Ereignis ist nicht gespeichert',
    unknownLead:
      'Geben Sie die Kurz-ID oder den Schlüssel so ein, wie die Nachricht sie nennt. Ereignisse werden für `store.retention` aufbewahrt.',
    shortId: 'Kurz-ID',
    way: 'Was daraus wurde',
    seen: 'Gesehen',
    seenAt: (at, delay) => `${at}, ${delay} nach dem Geschehen.`,
    historic: 'Es geschah vor Beginn der Überwachung.',
    rule: 'Regel',
    noRule: 'keine passt',
    ruleNumber: (rule) => `entschieden durch Regel ${rule}`,
    alert: 'Alarm',
    seq: (seq) => `Ereignis ${seq} davon`,
    noAlert: 'Kein Alarm',
    waiting: 'Wartet',
    notNow: 'Stumm',
    next: 'nächste Nachricht',
    unlessAcknowledged: 'sofern er nicht vorher endet oder quittiert wird',
    notified: 'Benachrichtigt',
    counted: 'gezählt, aber nicht aufgeführt',
    putOff: 'Aufgeschoben',
    never: 'Nicht benachrichtigt',
    forwarded: 'Weitergeleitet',
    waits: 'wartet',
    notSent: 'nicht gesendet',
    details: 'Einzelheiten',
    key: 'Schlüssel',
    type: 'Art',
  },

  deliveries: {
    lead: 'Was gesendet wurde oder noch gesendet wird, das Neueste zuerst.',
    none: 'Keine passenden Zustellungen.',
    state: 'Zustand',
    by: 'Über',
    queued: 'Eingereiht',
    tries: 'Versuche',
    error: 'Letzter Fehler',
    test: 'Einen Empfänger ausprobieren',
    testHelp:
      'Für jede seiner Integrationen wird eine Probenachricht eingereiht. Sie nennt sich selbst einen Test.',
    sendTest: 'Test senden',
  },

  delivery: {
    title: (receiver, integration) => `Zustellung an ${receiver} über ${integration}`,
    unknown: 'Diese Zustellung ist nicht gespeichert',
    unknownLead: 'Zustellungen werden nach ihrem Ende für `store.retention` aufbewahrt.',
    settled: 'Ende',
    nextTry: 'Nächster Versuch',
    refusedBy: 'Nicht gesendet an',
    remaining: 'Noch zu erreichen',
    id: 'ID',
    retry: 'Erneut senden',
    notNeeded:
      'Wird sie nicht mehr gebraucht, quittieren Sie den Alarm, der davon berichtet: Dann erinnert er niemanden mehr, und nach sieben Tagen endet er von selbst.',
    message: 'Nachricht',
    asNow: 'So, wie die jetzige Konfiguration sie sendet, ohne Geheimnisse.',
    noMessage:
      'Die Nachricht lässt sich hier nicht zeigen: Sie handelt nicht von Alarmen, oder ihre Integration gibt es nicht mehr.',
    about: 'Worum es geht',
    digest: (name, from, to) => `Die Zusammenfassung ${name}, ${from} bis ${to}.`,
  },

  silences: {
    lead: 'Solange eine Stummschaltung gilt, wird niemand über die Alarme benachrichtigt, auf die sie passt.',
    now: 'In Kraft oder geplant',
    none: 'Es gibt keine.',
    make: 'Alarme stummschalten',
    what: 'Was',
    birdHint: 'der ganze Name',
    look: 'Zeigen, was das stummschaltet',
    byMatchers: 'Mit Matchern',
    over: 'Abgelaufen',
    matchers: 'Matcher',
    why: 'Wer und warum',
    ended: 'Ende',
    whatSilenced: (by) => `stummgeschaltet von ${by}`,
    whatAcknowledged: (by) => `quittiert von ${by}`,
    untilResolved: 'bis der Alarm endet',
    begins: 'beginnt',
    ends: 'endet',
    recurring: (lasts, cron, zone) => `für ${lasts} jeweils um ${cron} (${zone})`,
    notYet: 'Noch nicht',
    hides: (alerts) => `Schaltet ${count(alerts, 'Alarm', 'Alarme')} stumm`,
    end: 'Jetzt beenden',
    endThat: (what) => `Die Stummschaltung ${what} beenden`,
    more: (more) =>
      `${count(more, 'weitere ist', 'weitere sind')} nicht aufgeführt: Alle zeigt \`nestwatch silence list\`.`,
    hidesNothing: 'Keinen jetzt aktiven Alarm. Was während ihrer Dauer hinzukommt, wird stummgeschaltet.',
    moreAlerts: (more) => `und ${count(more, 'weiterer Alarm', 'weitere Alarme')}`,
  },

  silence: {
    title: 'Alarme stummschalten',
    lead: 'Solange eine Stummschaltung gilt, wird niemand über die Alarme benachrichtigt, auf die sie passt. Was an ihrem Ende noch aktiv ist, wird dann gemeldet.',
    matchers: 'Matcher, die alle passen müssen',
    matchersHelp: 'Einer je Zeile: `nest="Marketing"`, `severity!="critical"`, `bird=~"Translate.*"`.',
    duration: 'Für wie lange',
    start: (zone) => `Beginn (${zone})`,
    startHint: 'jetzt',
    name: 'Ihr Name',
    reason: 'Grund',
    times: 'Nur zu bestimmten Zeiten',
    cron: 'Beginnt um (cron)',
    window: 'Jeweils für',
    zone: 'Zeitzone',
    make: 'Stummschalten',
    show: 'Zeigen, was sie stummschaltet',
    preview: 'Was sie stummschaltet',
    previewNow: 'Was sie jetzt stummschaltet',
    previewFrom: (instant) => `Was sie ab ${instant} stummschalten würde`,
    correct: 'Berichtigen Sie die Eingabe, um das zu sehen.',
    nameOne: 'Nennen Sie, worauf sie passen soll, um das zu sehen.',
    tooShort: 'Nichts: Sie endet, bevor sie etwas stummschaltet. Lassen Sie sie länger dauern.',
  },

  mistakes: {
    query: queryMistake,
    noName: 'Ihr Name fehlt: Andere sehen, wer dies getan hat.',
    tooLong: 'Ihr Name oder die Bemerkung ist zu lang.',
    noReason: 'Grund: Sagen Sie, warum; andere fragen sich das sonst.',
    noMatcher: 'Matcher: Nennen Sie mindestens einen, etwa bird="Translate blog".',
    matchers: (problem) => `Matcher: ${problem}.`,
    start: (zone) =>
      `Beginn: Schreiben Sie 2026-07-02 13:59:34 (${zone}), oder lassen Sie das Feld leer für jetzt.`,
    duration: 'Für wie lange: Schreiben Sie eine Dauer wie 30m, 2h oder 3d.',
    window: 'Jeweils für: Schreiben Sie eine Dauer wie 30m, 2h oder 3d.',
    oldLink: 'Dieser Link gilt nicht mehr: Öffnen Sie stattdessen die Seite.',
    noReceiver: 'Es gibt keinen Empfänger dieses Namens, der jemanden benachrichtigt.',
  },

  signature: {
    name: 'Ihr Name',
    optional: '(kann leer bleiben)',
  },

  acknowledge: {
    title: 'Alarm quittieren',
    question: 'Diesen Alarm quittieren?',
    over: 'Dieser Alarm ist beendet',
    nothing: 'Es gibt nichts mehr zu quittieren',
    done: 'Quittiert',
    wasResolved: 'Er endete, nachdem die Nachricht gesendet wurde.',
    endIsSent: 'Über sein Ende wird benachrichtigt.',
    lead: 'Bis er endet, wird niemand an ihn erinnert oder über neue Ereignisse darin benachrichtigt. Sein Ende wird gemeldet, und das nächste Mal auch.',
    why: 'Was Sie dagegen tun',
    button: 'Quittieren',
  },

  resolve: {
    title: 'Alarm beenden',
    question: 'Diesen Alarm beenden?',
    askAgain: 'Die Region erneut prüfen?',
    over: 'Dieser Alarm ist beendet',
    askLead:
      'Die Region wird sofort gefragt statt erst mit der nächsten Prüfung. Der Alarm endet, sobald sie antwortet, wie sie soll.',
    lead: 'Sagen Sie es, wenn es vorbei ist und der Dienst es nicht meldet: Das Ende wird sofort gemeldet, mit Ihrem Namen. Beim nächsten Mal gibt es einen neuen Alarm.',
    ended: 'Er endete:',
    resolved: 'Er wurde beendet.',
    why: 'Wodurch es vorbei ist',
    button: 'Beenden',
    askButton: 'Erneut prüfen',
  },

  search: {
    title: (text) => `Gefunden für „${text}“`,
    help: 'Ein Name, irgendeine ID, die Kurz-ID aus einer Nachricht oder Wörter eines Fehlers.',
    nothing: 'Nichts gefunden. Ältere Meldungen durchsucht die Seite der Ereignisse.',
    flights: 'Flights',
    all: 'alle',
  },

  config: {
    lead: 'Was in Kraft ist, mit eingesetzten Vorgaben und ohne Geheimnisse.',
  },

  writes: {
    title: 'Wer was geändert hat',
    lead: 'Jede Anfrage über HTTP, die etwas ändern sollte, die neueste zuerst. Auch das Log des Prozesses hat sie.',
    at: 'Wann',
    who: 'Wer',
    action: 'Verlangt',
    outcome: 'Ergebnis',
    textHint: 'Teil des Verlangten',
    done: 'erledigt',
    refused: (status: number): string => `abgelehnt (${status})`,
    by: {
      proxy: 'durch einen vertrauten Proxy',
      user: 'mit Passwort',
      token: 'mit Token',
      link: 'mit dem Link einer Mail',
      nobody_asked: 'ohne Anmeldung',
    },
  },

  alert: {
    unknown: 'Von diesem Alarm ist nichts bekannt',
    unknownLead:
      'Es gibt keinen mit dieser ID, oder er endete vor längerer Zeit, als der Datenspeicher zurückreicht.',
    isFiring: 'Aktiv',
    isOver: 'Beendet',
    isPending: 'Noch nicht aktiv',
    began: 'begann',
    message: 'Meldung',
    labels: 'Labels',
    annotations: 'Was er sagt',
    events: 'Ereignisse',
    noEvents: 'Er hat keine eigenen Ereignisse.',
    moreEvents: (more) => `Noch ${count(more, 'wird', 'werden')} nicht gezeigt.`,
    letGo: 'Er ist beendet und selbst nicht mehr gespeichert: Dies blieb von seinem letzten Mal.',
    notified: 'Wer benachrichtigt wurde',
    nobodyYet: 'Niemand wurde darüber benachrichtigt.',
    receivers: (names) => `Seine Labels führen zu ${names}.`,
    noReceiver: 'Seine Labels führen zu keinem Empfänger.',
    withheld: 'Nicht benachrichtigt über',
    history: 'Frühere Male',
    beganColumn: 'Beginn',
    lastedColumn: 'Dauer',
    ending: 'Endete, weil',
    eventsOf: 'Ereignisse',
    receiver: 'Empfänger',
    reason: 'Anlass',
    at: 'Zeit',
    deliveries: 'Zustellungen',
    why: (reason) => REASONS.get(reason) ?? reason,
    ended: (ending) => ENDINGS.get(ending) ?? '',
  },

  open: {
    states: {
      well: 'Allen Birds geht es gut',
      failing: 'Einige Birds scheitern',
      unknown: 'Zurzeit nicht bekannt',
    },
    blind: 'Die Überwachung ist unterbrochen. Dies ist der letzte bekannte Stand.',
    began: 'begann',
    list: 'Birds',
    birds: { well: 'in Ordnung', failing: 'scheitert', off: 'aus' },
    counts: ({ well, failing, off }) =>
      [
        `${number(well)} in Ordnung`,
        ...(failing > 0 ? [count(failing, 'scheitert', 'scheitern')] : []),
        ...(off > 0 ? [`${number(off)} aus`] : []),
      ].join(', '),
    more: (more) => `${count(more, 'weiterer ist', 'weitere sind')} nicht aufgeführt.`,
    badge: { well: 'in Ordnung', unknown: 'unbekannt' },
    badgeFailing: (failing, total) =>
      `${number(failing)} von ${number(total)} ${form(failing, 'scheitert', 'scheitern')}`,
  },

  count: {
    alerts: (alerts) => count(alerts, 'Alarm', 'Alarme'),
    events: (events) => count(events, 'Ereignis', 'Ereignisse'),
  },
};

function isKind(alertname: string): alertname is AlertKind {
  return Object.hasOwn(KINDS, alertname);
}
