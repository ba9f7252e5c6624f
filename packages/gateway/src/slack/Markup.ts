/**
 * Slack's markup of users, channels and links in angle brackets, and its three escaped characters. Pure.
 */

const entities: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">" }

const unescape = (text: string): string =>
  text.replaceAll(/&(?:amp|lt|gt);/g, (entity) => entities[entity] ?? entity)

/** The content of angle brackets, as a reader sees it. Mentions of `bot` are left out. */
const displayText = (inside: string, bot: string | undefined): string => {
  const [target = "", label = ""] = inside.split("|", 2)
  const sign = target.slice(0, 1)
  const name = label === "" ? target.slice(1) : label.replace(/^[@#]/, "")
  switch (sign) {
    case "@":
      return target.slice(1) === bot ? "" : `@${name}`
    case "#":
      return `#${name}`
    case "!":
      // `<!here>`, `<!subteam^S1|@team>`, `<!date^…|today>`: an unreadable target has a label.
      return label === "" ? `@${name}` : label
    default:
      return label === "" || label === target || target === `mailto:${label}`
        ? label || target
        : `${label} (${target})`
  }
}

/** A message as plain text. Mentions of `bot`, an id, are left out. */
export const removeMarkup = (text: string, bot: string | undefined): string =>
  text
    .replaceAll(/<([^<>]*)>|&(?:amp|lt|gt);/g, (whole: string, inside: string | undefined) =>
      unescape(inside === undefined ? whole : displayText(inside, bot))
    )
    .trim()

/** Plain text, escaped so that nothing in it is a mention, a link or a channel. */
export const escapeMarkup = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
