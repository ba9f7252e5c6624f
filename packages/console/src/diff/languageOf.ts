/** The language of a file by its name, as the highlighter calls it. */
const byExtension: Readonly<Record<string, string>> = {
  bash: "bash",
  c: "c",
  cc: "c",
  cpp: "c",
  css: "css",
  go: "go",
  h: "c",
  htm: "xml",
  html: "xml",
  java: "java",
  cjs: "javascript",
  js: "javascript",
  json: "json",
  jsx: "javascript",
  md: "markdown",
  mjs: "javascript",
  mts: "typescript",
  py: "python",
  rs: "rust",
  sh: "bash",
  sql: "sql",
  svg: "xml",
  ts: "typescript",
  tsx: "typescript",
  xml: "xml",
  yaml: "yaml",
  yml: "yaml"
}

export const languageOfFile = (path: string): string | undefined => {
  const extension = path.slice(path.lastIndexOf(".") + 1).toLowerCase()
  return Object.hasOwn(byExtension, extension) ? byExtension[extension] : undefined
}
