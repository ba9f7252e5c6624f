/** Colours, or none. */
import { styleText } from "node:util"

type Style = Parameters<typeof styleText>[0]
export type Paint = (style: Style, text: string) => string

/** Colours only where the output is `live`. */
export const painter = (live: boolean): Paint =>
  live ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text
