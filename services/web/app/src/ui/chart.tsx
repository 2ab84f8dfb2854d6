// SPDX-License-Identifier: MIT
//
// chart: lines over time. It is drawn by uPlot, which only pages with a curve load.
import { useEffect, useRef, useState } from 'preact/hooks';
import { uPlot } from './plot';
import './chart.css';
import { theme } from './theme';
import { secondOf } from './time';

export interface Line {
  name: string;
  /** A colour of style/base.css. */
  color: string;
  values: (number | null)[];
}

interface Props {
  /** Says in words what the lines show. */
  label: string;
  timesS: number[];
  lines: Line[];
  height: number;
}

const dark = matchMedia('(prefers-color-scheme: dark)');

// A canvas takes colours as they are, so light-dark() has to be worked out by an element.
function colorOf(box: HTMLElement, name: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(${name})`;
  box.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function axisOf(box: HTMLElement): uPlot.Axis {
  const grid = { stroke: colorOf(box, '--line'), width: 1 };
  return { stroke: colorOf(box, '--soft'), font: `12px ${getComputedStyle(box).fontFamily}`, grid, ticks: { show: false } };
}

function create(box: HTMLElement, { lines, height }: Props, data: uPlot.AlignedData): uPlot {
  return new uPlot(
    {
      width: box.clientWidth,
      height,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_plot, _min, max) => [0, Math.max(4, Math.ceil(max * 1.15))] } },
      axes: [{ ...axisOf(box), space: 90, values: (_plot, splits) => splits.map((atS) => secondOf(atS * 1000)) }, { ...axisOf(box), size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000] }],
      series: [{}, ...lines.map(({ color }): uPlot.Series => ({ stroke: colorOf(box, color), width: 2, points: { show: false }, fill: `color-mix(in srgb, ${colorOf(box, color)} 10%, transparent)` }))],
    },
    data,
    box,
  );
}

export function Chart(props: Props) {
  const { label, timesS, lines, height } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [isDark, setDark] = useState(dark.matches);
  const data: uPlot.AlignedData = [timesS, ...lines.map(({ values }) => values)];
  useEffect(() => {
    const onChange = () => setDark(dark.matches);
    dark.addEventListener('change', onChange);
    return () => dark.removeEventListener('change', onChange);
  }, []);
  useEffect(() => {
    const element = box.current!;
    const own = create(element, props, data);
    const watcher = new ResizeObserver(() => own.setSize({ width: element.clientWidth, height }));
    plot.current = own;
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      own.destroy();
    };
  }, [isDark, theme.value, height]);
  useEffect(() => plot.current?.setData(data), [timesS.at(-1), timesS.length]);
  return (
    <figure class="chart">
      <figcaption>
        {lines.map(({ name, color }) => (
          <span key={name}>
            <i class={`key is${color}`} /> {name}
          </span>
        ))}
      </figcaption>
      <div ref={box} role="img" aria-label={label} />
    </figure>
  );
}
