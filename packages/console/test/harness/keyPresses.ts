/** Presses of a combination of the list of keys, as a browser's driver names them: `Ctrl Shift Enter`, `Esc Esc`. */

const modifiers: Readonly<Record<string, string>> = {
  Ctrl: "Control",
  "⌘": "Meta",
  Alt: "Alt",
  Shift: "Shift"
}
const keys: Readonly<Record<string, string>> = { Esc: "Escape", "↑": "ArrowUp", "↓": "ArrowDown" }

export const pressesOf = (combination: string): ReadonlyArray<string> => {
  const presses: Array<string> = []
  let pending: ReadonlyArray<string> = []
  for (const part of combination.split(" ")) {
    const modifier = modifiers[part]
    if (modifier !== undefined) {
      pending = [...pending, modifier]
      continue
    }
    // A capital letter would be a press with Shift.
    presses.push([...pending, keys[part] ?? (part.length === 1 ? part.toLowerCase() : part)].join("+"))
    pending = []
  }
  return presses
}
