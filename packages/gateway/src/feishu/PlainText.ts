/**
 * Text that Feishu shows unchanged. Feishu has no escapes, so a space without width parts what it would read as a mention, a style or a
 * link.
 */

const NOTHING = "\u200b"

/** Of a text message. Control characters but for tab and line feed go: each would take six bytes. */
export const plainText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\t\n]/gu, "")
    .replaceAll(/<(?=[A-Za-z/])/g, `<${NOTHING}`)
    .replaceAll(/(?<![A-Za-z0-9.])@(?=\S)/g, `@${NOTHING}`)
    .replaceAll("](", `]${NOTHING}(`)
