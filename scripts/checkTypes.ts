/**
 * `npm run types`: checks the types of all packages, tests and scripts, as one program: types that many modules share, Effect's above all, are
 * checked once. Incremental. Two checkers share the work, unless `--checkers` says otherwise: a fifth more processor time than one, in less time
 * where another processor is idle. More cost more than they save.
 */
import { compileTypes } from "./TypeCompiler.ts"

const args = process.argv.slice(2)
const checkers = args.includes("--checkers") ? [] : ["--checkers", "2"]

process.exitCode = compileTypes("--project", ".", ...checkers, ...args)
