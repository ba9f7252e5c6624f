/** Optional terminal colours. */
import { styleText } from "node:util"

type Style = Parameters<typeof styleText>[0]
export type Paint = (style: Style, text: string) => string

/** Returns a function that colours text, or leaves it unchanged. */
export const makePaint = (isColoured: boolean): Paint =>
  isColoured ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text
