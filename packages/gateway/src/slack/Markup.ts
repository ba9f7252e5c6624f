/**
 * Slack's own markup, as far as it is more than marks around words: people, channels and links in angle brackets, and the three characters
 * that are escaped. Pure.
 */

const entities: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">" }

const unescaped = (text: string): string =>
  text.replaceAll(/&(?:amp|lt|gt);/g, (entity) => entities[entity] ?? entity)

/** What stands between angle brackets, as a reader sees it. `bot` itself is not shown. */
const shown = (inside: string, bot: string | undefined): string => {
  const [target = "", label = ""] = inside.split("|", 2)
  const sign = target.slice(0, 1)
  const name = label === "" ? target.slice(1) : label.replace(/^[@#]/, "")
  switch (sign) {
    case "@":
      return target.slice(1) === bot ? "" : `@${name}`
    case "#":
      return `#${name}`
    case "!":
      // `<!here>`, `<!subteam^S1|@team>`, `<!date^…|today>`: what is not for a person to read has a label.
      return label === "" ? `@${name}` : label
    default:
      return label === "" || label === target || target === `mailto:${label}`
        ? label || target
        : `${label} (${target})`
  }
}

/** A message's text as plain text. Mentions of `bot`, an id, are left out. */
export const plainOf = (text: string, bot: string | undefined): string =>
  text
    .replaceAll(/<([^<>]*)>|&(?:amp|lt|gt);/g, (whole: string, inside: string | undefined) =>
      unescaped(inside === undefined ? whole : shown(inside, bot))
    )
    .trim()

/** Plain text, so that nothing in it is a mention, a link or a channel. */
export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
