/** Mocks of modules in tests. A test that replaces a module shows nothing about it: tests run the module, or a real server that stands in for another program. */

const MOCK = /\bvi\.(?:mock|doMock|hoisted)\(/

/** Lines of such mocks. */
export const moduleMocksIn = (text: string): ReadonlyArray<number> =>
  text.split("\n").flatMap((line, at) => (MOCK.test(line) ? [at + 1] : []))
