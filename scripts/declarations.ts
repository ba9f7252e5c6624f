/**
 * `npm run declarations`: writes the declarations of the packages that programs import, below `.build`.
 *
 * Also checks what the type check of the whole cannot: that the sources of each package have types in its own environment, such as a browser without
 * Node's types, with the declarations of the packages that it depends on.
 */
import { compileTypes } from "./TypeCompiler.ts"

process.exitCode = compileTypes(
  "--build",
  "--checkers",
  "1",
  "tsconfig.declarations.json",
  ...process.argv.slice(2)
)
