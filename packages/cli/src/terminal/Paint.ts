/** Colours, or none. */
import { styleText } from "node:util"

type Style = Parameters<typeof styleText>[0]
export type Paint = (style: Style, text: string) => string

/** Colours only where they are wanted. */
export const makePaint = (wanted: boolean): Paint =>
  wanted ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text
