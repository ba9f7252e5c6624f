/**
 * Coloured pieces of terminal output. Keeps only colours and weight of escape sequences.
 *
 * *Guarantees:* class names only, never styles, so that a program can only use the console's colours.
 */
import { escapeSequence, visibleControls } from "./visible.ts"

export interface AnsiPiece {
  readonly text: string
  /** Space-separated classes of `markdown.css`; empty for plain text. */
  readonly className: string
}

const colours = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const

interface Look {
  readonly colour?: string | undefined
  readonly bold?: boolean
  readonly dim?: boolean
}

const after = (look: Look, codes: ReadonlyArray<number>): Look => {
  let next = look
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0
    if (code === 0) next = {}
    else if (code === 1) next = { ...next, bold: true }
    else if (code === 2) next = { ...next, dim: true }
    else if (code === 22) next = { ...next, bold: false, dim: false }
    else if (code === 39) next = { ...next, colour: undefined }
    else if (code >= 30 && code <= 37) next = { ...next, colour: colours[code - 30] }
    else if (code >= 90 && code <= 97) next = { ...next, colour: colours[code - 90] }
    // Parameters of an extended colour are not separate codes.
    else if (code === 38 || code === 48) at += codes[at + 1] === 2 ? 4 : 2
  }
  return next
}

const classOf = ({ bold, colour, dim }: Look): string =>
  [colour && `ansi-${colour}`, bold && "ansi-bold", dim && "ansi-dim"].filter(Boolean).join(" ")

/** Segments in order. Their joined texts equal `visible` of the whole text, except for a line end inside an escape sequence. */
export const ansiPieces = (text: string): ReadonlyArray<AnsiPiece> => {
  const pieces: Array<AnsiPiece> = []
  let look: Look = {}
  let from = 0
  const push = (piece: string) => {
    if (piece !== "") pieces.push({ text: visibleControls(piece), className: classOf(look) })
  }
  for (const found of text.matchAll(escapeSequence)) {
    push(text.slice(from, found.index))
    from = found.index + found[0].length
    if (found[2] === "m") look = after(look, (found[1] ?? "").split(/[;:]/).map(Number))
  }
  push(text.slice(from))
  return pieces
}
