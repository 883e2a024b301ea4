/**
 * Grafana dashboards as code: types for the part of Grafana's schema (version 39) that is used here, and a layout that
 * places panels from left to right.
 */

/** Every panel queries the data source that the reader selects in the dashboard. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana fills it in.
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const;
const COLUMNS = 24;

export interface Query {
  readonly expr: string;
  /** The name of the line, with labels in braces: `{{region}}`. */
  readonly legend?: string;
}

interface Look {
  readonly unit?: string;
  readonly min?: number;
  readonly max?: number;
  /** The values from which on it is yellow, and red. */
  readonly warnAt?: number;
  readonly alarmAt?: number;
  /** In columns, of which there are 24, and in rows of 30 pixels. */
  readonly width?: number;
  readonly height?: number;
  readonly description?: string;
}

export interface Panel extends Look {
  readonly type: 'timeseries' | 'stat' | 'table' | 'row';
  readonly title: string;
  readonly queries: readonly Query[];
  /** Columns of a table that are left out. */
  readonly hidden?: readonly string[];
  readonly stacked?: boolean;
}

export interface Variable {
  readonly name: string;
  readonly label: string;
  /** In the syntax of Grafana's data source: `label_values(…)` or `query_result(…)`. */
  readonly query: string;
  /** Extracts a text and a value from a result. */
  readonly regex?: string;
  /** Whether several values, or all, can be selected. */
  readonly several: boolean;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly panels: readonly Panel[];
}

export function row(title: string): Panel {
  return { type: 'row', title, queries: [], width: COLUMNS, height: 1 };
}

export function stat(title: string, expr: string, look: Look = {}): Panel {
  return { type: 'stat', title, queries: [{ expr }], width: 4, height: 4, ...look };
}

type LinesLook = Look & { readonly stacked?: boolean };

export function lines(title: string, queries: readonly Query[], look: LinesLook = {}): Panel {
  return { type: 'timeseries', title, queries, width: 12, height: 8, ...look };
}

/** The lines of one query. */
export function line(title: string, legend: string, expr: string, look?: LinesLook): Panel {
  return lines(title, [{ expr, legend }], look);
}

export function table(
  title: string,
  expr: string,
  look: Look & { readonly hidden?: readonly string[] } = {},
): Panel {
  return { type: 'table', title, queries: [{ expr }], width: 12, height: 8, ...look };
}

/** What Grafana imports. */
export function dashboardJson({ uid, title, description, variables, panels }: Dashboard): object {
  return {
    uid,
    title,
    description,
    tags: ['nestwatch'],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    timezone: 'browser',
    time: { from: 'now-6h', to: 'now' },
    refresh: '30s',
    links: [
      {
        type: 'dashboards',
        title: 'nestwatch',
        tags: ['nestwatch'],
        asDropdown: true,
        includeVars: true,
        keepTime: true,
        targetBlank: false,
        icon: 'external link',
        tooltip: '',
        url: '',
      },
    ],
    templating: { list: [datasourceVariable(), ...variables.map(variableJson)] },
    annotations: { list: [firingAnnotation(variables)] },
    panels: placed(panels),
  };
}

function datasourceVariable(): object {
  return { type: 'datasource', name: 'datasource', label: 'Prometheus', query: 'prometheus', refresh: 1 };
}

function variableJson({ name, label, query, regex = '', several }: Variable): object {
  return {
    type: 'query',
    name,
    label,
    datasource: DATASOURCE,
    query: { query, refId: name },
    definition: query,
    regex,
    // Queried again when the time range changes, because Nests and Birds come and go.
    refresh: 2,
    sort: 1,
    multi: several,
    includeAll: several,
    ...(several && { allValue: '.*', current: { text: 'All', value: '$__all' } }),
  };
}

/** Marks nestwatch's own alerts in every panel. */
function firingAnnotation(variables: readonly Variable[]): object {
  const region = variables.some(({ name }) => name === 'region') ? '{region=~"$region"}' : '';
  return {
    name: 'Alerts of nestwatch',
    datasource: DATASOURCE,
    enable: true,
    iconColor: 'red',
    expr: `sum by (alertname, severity, region) (nestwatch_alerts_firing${region}) > 0`,
    titleFormat: '{{alertname}}',
    textFormat: '{{severity}} {{region}}',
    step: '60s',
  };
}

function placed(panels: readonly Panel[]): object[] {
  let [x, y, rowHeight] = [0, 0, 0];
  return panels.map((panel, index) => {
    const { width: w = 12, height: h = 8 } = panel;
    if (x + w > COLUMNS) [x, y, rowHeight] = [0, y + rowHeight, 0];
    const gridPos = { x, y, w, h };
    x += w;
    rowHeight = Math.max(rowHeight, h);
    return panelJson(panel, index + 1, gridPos);
  });
}

function panelJson(panel: Panel, id: number, gridPos: object): object {
  const { type, title, description, queries } = panel;
  if (type === 'row') return { id, type, title, gridPos, collapsed: false, panels: [] };
  return {
    id,
    type,
    title,
    ...(description && { description }),
    gridPos,
    datasource: DATASOURCE,
    targets: queries.map((query, index) => targetJson(type, query, index)),
    fieldConfig: { defaults: fieldJson(panel), overrides: [] },
    options: OPTIONS[type],
    ...(type === 'table' && { transformations: [organized(panel.hidden ?? [])] }),
  };
}

function targetJson(type: Panel['type'], { expr, legend }: Query, index: number): object {
  const isInstant = type !== 'timeseries';
  return {
    refId: String.fromCharCode(65 + index),
    datasource: DATASOURCE,
    expr,
    legendFormat: legend ?? '__auto',
    instant: isInstant,
    range: !isInstant,
    exemplar: !isInstant && expr.includes('_bucket'),
    format: type === 'table' ? 'table' : 'time_series',
  };
}

function fieldJson({ type, unit, min, max, warnAt, alarmAt, stacked }: Panel): object {
  const steps = [
    { color: type === 'stat' && (warnAt ?? alarmAt) === undefined ? 'blue' : 'green', value: null },
    ...(warnAt === undefined ? [] : [{ color: 'yellow', value: warnAt }]),
    ...(alarmAt === undefined ? [] : [{ color: 'red', value: alarmAt }]),
  ];
  return {
    ...(unit && { unit }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    color: { mode: type === 'timeseries' ? 'palette-classic' : 'thresholds' },
    thresholds: { mode: 'absolute', steps },
    ...(type === 'timeseries' && {
      custom: {
        drawStyle: 'line',
        lineWidth: 1,
        fillOpacity: stacked ? 30 : 8,
        showPoints: 'never',
        stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
      },
    }),
  };
}

const OPTIONS = {
  timeseries: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  stat: {
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    colorMode: 'value',
    graphMode: 'none',
    textMode: 'auto',
    justifyMode: 'auto',
    orientation: 'auto',
  },
  table: { showHeader: true, cellHeight: 'sm', footer: { show: false, reducer: ['sum'], countRows: false } },
} as const;

/** Hides the time and the columns that mean nothing to people. */
function organized(hidden: readonly string[]): object {
  const excludeByName = Object.fromEntries(
    ['Time', 'job', 'instance', '__name__', ...hidden].map((name) => [name, true]),
  );
  return { id: 'organize', options: { excludeByName, indexByName: {}, renameByName: {} } };
}
