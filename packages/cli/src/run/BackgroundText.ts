/** Texts about work that continues after a turn of the agent. */

const SHOWN_TITLES = 5

/** `working in the background: 2 (npm run dev, watch tests)`. Titles are the program's. */
export const backgroundText = (count: number, titles: ReadonlyArray<string>): string => {
  const shown = titles.slice(0, SHOWN_TITLES)
  const more = count - shown.length
  const names = [...shown, ...(more > 0 && shown.length > 0 ? [`${more} more`] : [])].join(", ")
  return `working in the background: ${count}${names === "" ? "" : ` (${names})`}`
}
