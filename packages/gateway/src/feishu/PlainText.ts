/**
 * Text that Feishu shows unchanged. Feishu has no escapes, so a zero-width space splits what it would read as a mention, a style or a link.
 */

const ZERO_WIDTH_SPACE = "\u200b"

/** Content of a text message. Control characters except tab and line feed are removed: each would take six bytes. */
export const plainText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\t\n]/gu, "")
    .replaceAll(/<(?=[A-Za-z/])/g, `<${ZERO_WIDTH_SPACE}`)
    .replaceAll(/(?<![A-Za-z0-9.])@(?=\S)/g, `@${ZERO_WIDTH_SPACE}`)
    .replaceAll("](", `]${ZERO_WIDTH_SPACE}(`)
