/** The style sheet of the page. */
export const pageStyle = `
:root { color-scheme: light dark; --text: #1c2430; --soft: #5d6b7c; --line: #d8dee6; --back: #fff; --mine: #eef6ff; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6eaf0; --soft: #9aa7b6; --line: #36404c; --back: #151a20; --mine: #1b2a3c; }
}
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 24px 16px 64px; }
h1 { margin: 0 0 4px; } h2 { margin: 40px 0 4px; font-size: 19px; }
p { margin: 4px 0 12px; max-width: 80ch; } .meta, dd { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: 4px 8px; text-align: right; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; white-space: nowrap; } th { font-weight: 600; }
tr.library td { background: var(--mine); font-weight: 600; }
.pass { color: #1a8a4c; } .fail { color: #c5352b; text-align: left; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(460px, 1fr)); gap: 12px 24px; margin: 8px 0 12px; }
.charts > div { position: relative; min-width: 0; }
@media (max-width: 520px) { .charts { grid-template-columns: 1fr; } main { overflow-x: auto; } }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; } dt { font-weight: 600; } dd { margin: 0; }
`;

/** The script of the page: draws a horizontal bar chart, with the spread of the rounds and the target, per scenario. */
export const pageScript = `
const css = getComputedStyle(document.documentElement);
const text = css.getPropertyValue('--text'), line = css.getPropertyValue('--line');
const colors = { library: '#1f77d0', reference: '#7f8a97', baseline: '#c98a2b', peer: '#8459b8' };
Chart.defaults.color = text;
Chart.defaults.borderColor = line;
const marks = {
  id: 'marks',
  afterDatasetsDraw(chart) {
    const { ctx, chartArea: area, scales: { x }, options: { data } } = chart;
    ctx.save();
    ctx.strokeStyle = text;
    chart.getDatasetMeta(0).data.forEach((bar, index) => {
      const [low, high] = data.spreads[index];
      if (!(high > low)) return;
      const from = Math.max(area.left, x.getPixelForValue(low)), to = Math.min(area.right, x.getPixelForValue(high));
      ctx.beginPath(); ctx.moveTo(from, bar.y); ctx.lineTo(to, bar.y);
      for (const at of [from, to]) { ctx.moveTo(at, bar.y - 4); ctx.lineTo(at, bar.y + 4); }
      ctx.stroke();
    });
    const at = data.target === null ? NaN : x.getPixelForValue(data.target);
    if (at >= area.left && at <= area.right) {
      ctx.setLineDash([5, 4]); ctx.strokeStyle = '#c5352b';
      ctx.beginPath(); ctx.moveTo(at, area.top); ctx.lineTo(at, area.bottom); ctx.stroke();
    }
    ctx.restore();
  },
};
for (const data of JSON.parse(document.getElementById('charts').textContent)) {
  const values = data.medians.filter((value) => value > 0);
  const wide = Math.max(...values) / Math.min(...values) > 50;
  new Chart(document.getElementById('chart-' + data.id), {
    type: 'bar',
    data: {
      labels: data.names,
      datasets: [{ data: data.medians, backgroundColor: data.kinds.map((kind) => colors[kind]), barPercentage: 0.75 }],
    },
    options: {
      data, indexAxis: 'y', animation: false, maintainAspectRatio: false,
      plugins: { legend: { display: false } },
      scales: {
        x: {
          type: wide ? 'logarithmic' : 'linear',
          title: { display: true, text: data.label + (wide ? ', logarithmic' : '') },
          ticks: { callback: (value) => (wide && !/^[15]/.test(String(value).replace(/[0.]/g, '')) ? '' : value), maxRotation: 0 },
          suggestedMax: data.target === null || wide ? undefined : data.target * 1.05,
        },
      },
    },
    plugins: [marks],
  });
}
`;
