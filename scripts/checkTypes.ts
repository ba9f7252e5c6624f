/**
 * `npm run types`: checks the types of all packages, tests and scripts, as one program: types that many modules share, Effect's above all, are
 * checked once. Incremental. Two checkers share the work; more cost more processor time than they save.
 */
import { compileTypes } from "./TypeCompiler.ts"

process.exitCode = compileTypes("--project", ".", "--checkers", "2", ...process.argv.slice(2))
