/**
 * Pages that walk a path through the modules, one table of steps after the other: which module has the value, what happens there, and what joins
 * the module to the next one.
 *
 * Guarantees: two steps hold together if one module imports the other. Otherwise the last cell names what joins them: a module that imports one and
 * is imported by the other, a module that imports both, or a name that both import from a module. A name in the text is in the step's module.
 */
import type { SourceModule } from "./walls/Modules.ts"

export interface PathStep {
  readonly module: string
  /** Names of code in the text, without their calls. */
  readonly names: ReadonlyArray<string>
  readonly joint: { readonly module: string; readonly names: ReadonlyArray<string> } | undefined
}

export interface StepSource extends SourceModule {
  readonly text: string
}

const LINK = /\]\(\.\.\/(packages\/[^)]+)\)/g
/** A name of code, perhaps of a member: `RunSession.post`. */
const NAME = /(?<!\[)`([A-Za-z][\w.]*)`/g

const linksOf = (cell: string): ReadonlyArray<string> => [...cell.matchAll(LINK)].map(([, path = ""]) => path)
const namesOf = (cell: string): ReadonlyArray<string> =>
  [...cell.matchAll(NAME)].flatMap(([, name = ""]) => name.split("."))

const stepOf = (row: string): PathStep => {
  const [, , module = "", text = "", joint = ""] = row.split("|")
  const [path = module.trim()] = linksOf(module)
  const [joined] = linksOf(joint)
  return {
    module: path,
    names: namesOf(text),
    joint: joined === undefined ? undefined : { module: joined, names: namesOf(joint) }
  }
}

/** The tables of a page: each is one part of the path. */
export const partsOf = (page: string): ReadonlyArray<ReadonlyArray<PathStep>> =>
  page
    .split(/^#+ .*$/m)
    .map((part) => [...part.matchAll(/^\| \d+ \|.*\|$/gm)].map(([row]) => stepOf(row)))
    .filter((steps) => steps.length > 0)

const includesName = (text: string, name: string): boolean =>
  new RegExp(String.raw`(?<![\w$])${name}(?![\w$])`).test(text)

/** What does not hold in one part, one sentence each. */
export const brokenSteps = (
  steps: ReadonlyArray<PathStep>,
  sources: ReadonlyMap<string, StepSource>
): ReadonlyArray<string> => {
  const imports = (from: string, to: string): boolean => sources.get(from)?.imports.includes(to) === true
  const isJoined = ({ joint, module }: PathStep, next: string): boolean => {
    if (imports(module, next) || imports(next, module)) return true
    if (joint === undefined) return false
    const { module: middle, names } = joint
    const before = imports(module, middle)
    const after = imports(next, middle)
    if (!before || !after) return (before || imports(middle, module)) && (after || imports(middle, next))
    // Both import it, which joins them only by what both use.
    const texts = [module, middle, next].map((path) => sources.get(path)?.text ?? "")
    return names.length > 0 && names.every((name) => texts.every((text) => includesName(text, name)))
  }
  return steps.flatMap((step, at) => {
    const source = sources.get(step.module)
    if (source === undefined) return [`There is no module ${step.module}.`]
    const next = steps[at + 1]?.module
    return [
      ...step.names
        .filter((name) => !includesName(source.text, name))
        .map((name) => `${step.module} does not contain ${name}.`),
      ...(next === undefined || isJoined(step, next) ? [] : [`Nothing joins ${step.module} to ${next}.`])
    ]
  })
}
