// SPDX-License-Identifier: MIT
//
// curve: the distance of each turn, their mean with the band of its interval, and failed turns as crosses below. The scale holds the
// whole band, which may reach further than any turn.
import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { t } from '../texts';
import { theme } from '../ui/theme';
import type { Evaluation, Turn } from './evaluations';

const HEIGHT = 300;
const MARKERS_MAX = 250;

/** The scale of the distances: all of them, the whole band, and zero. */
function rangeOf(turns: Turn[], interval: [number, number] | null): [number, number] {
  const values = [...turns.flatMap(({ distance }) => distance ?? []), ...(interval ?? []), 0];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = (high - low || 1) * 0.08;
  return [low < 0 ? low - margin : 0, high + margin];
}

/** The page's colours as a canvas takes them: of which scheme they are is known to elements only. */
function colors(of: HTMLElement): Record<'line' | 'band' | 'mean' | 'grid' | 'text' | 'bad', string> {
  const probe = document.createElement('i');
  of.append(probe);
  const value = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const found = { line: value('--link'), band: value('--band'), mean: value('--good'), grid: value('--line'), text: value('--soft'), bad: value('--bad') };
  probe.remove();
  return found;
}

function optionsFor(box: HTMLElement, evaluation: Evaluation, turns: Turn[]): uPlot.Options {
  const words = t().evaluations;
  const color = colors(box);
  const [low, high] = rangeOf(turns, evaluation.interval);
  const { interval, mean } = evaluation;
  const drawBand = (plot: uPlot) => {
    const { left, width, top, height } = plot.bbox;
    plot.ctx.save();
    if (interval) {
      const [y0, y1] = [plot.valToPos(interval[1], 'y', true), plot.valToPos(interval[0], 'y', true)];
      plot.ctx.fillStyle = color.band;
      plot.ctx.fillRect(left, y0, width, y1 - y0);
    }
    if (mean !== null) {
      const y = plot.valToPos(mean, 'y', true);
      plot.ctx.strokeStyle = color.mean;
      plot.ctx.lineWidth = 2 * devicePixelRatio;
      plot.ctx.setLineDash([8 * devicePixelRatio, 5 * devicePixelRatio]);
      plot.ctx.beginPath();
      plot.ctx.moveTo(left, y);
      plot.ctx.lineTo(left + width, y);
      plot.ctx.stroke();
      plot.ctx.setLineDash([]);
    }
    plot.ctx.strokeStyle = color.bad;
    plot.ctx.lineWidth = 1.5 * devicePixelRatio;
    const [r, y] = [4 * devicePixelRatio, top + height - 8 * devicePixelRatio];
    for (const { turn, distance } of turns) {
      if (distance !== null) continue;
      const x = plot.valToPos(turn, 'x', true);
      plot.ctx.beginPath();
      plot.ctx.moveTo(x - r, y - r);
      plot.ctx.lineTo(x + r, y + r);
      plot.ctx.moveTo(x + r, y - r);
      plot.ctx.lineTo(x - r, y + r);
      plot.ctx.stroke();
    }
    plot.ctx.restore();
  };
  const axis = { stroke: color.text, grid: { stroke: color.grid, width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
  return {
    width: box.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { time: false, range: [0.5, Math.max(evaluation.total, 2) + 0.5] }, y: { range: [low, high] } },
    axes: [
      { ...axis, grid: { show: false }, size: 30, label: words.turn, labelFont: axis.font, labelSize: 18, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
      { ...axis, label: words.distance, labelFont: axis.font, labelSize: 20, size: 52 },
    ],
    series: [{}, { stroke: color.line, width: 2, points: { show: turns.length <= MARKERS_MAX, size: 7, fill: color.line } }],
    hooks: { drawAxes: [drawBand] },
  };
}

export function Curve({ evaluation, turns }: { evaluation: Evaluation; turns: Turn[] }) {
  const words = t().evaluations;
  const box = useRef<HTMLDivElement>(null);
  const look = theme.value;
  useEffect(() => {
    const element = box.current!;
    const data: uPlot.AlignedData = [turns.map(({ turn }) => turn), turns.map(({ distance }) => distance)];
    const life = new AbortController();
    let plot: uPlot | undefined;
    const resize = () => plot?.setSize({ width: element.clientWidth, height: HEIGHT });
    const watcher = new ResizeObserver(resize);
    const start = async () => {
      const { uPlot: Plot } = await import('../ui/plot');
      const draw = () => {
        plot?.destroy();
        plot = new Plot(optionsFor(element, evaluation, turns), data, element);
      };
      if (life.signal.aborted) return;
      draw();
      watcher.observe(element);
      matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw, life);
    };
    void start();
    return () => {
      life.abort();
      watcher.disconnect();
      plot?.destroy();
    };
  }, [evaluation, turns, look, words]);
  return (
    <figure class="curve">
      <div ref={box} role="img" aria-label={words.curve(turns.length)} data-scale={rangeOf(turns, evaluation.interval).join(' ')} />
      <figcaption>
        <span class="key is-line">{words.keyTurn}</span>
        <span class="key is-mean">{words.keyMean}</span>
        {evaluation.interval && <span class="key is-band">{words.keyBand}</span>}
        {evaluation.failed > 0 && <span class="key is-failed">{words.keyFailed}</span>}
      </figcaption>
    </figure>
  );
}
