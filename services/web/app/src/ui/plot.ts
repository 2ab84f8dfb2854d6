// SPDX-License-Identifier: MIT
//
// plot: uPlot with its style, in a chunk of its own that is loaded when the first curve is drawn.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export { uPlot };
