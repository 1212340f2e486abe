import tseslint from 'typescript-eslint';

// Type-aware rules: a promise nobody awaits is how a lock library leaks a hold.
export default tseslint.config(
  {
    ignores: [
      'node_modules/',
      '**/dist/',
      'coverage/',
      'bench/results/',
      'docs/node_modules/',
      'docs/.vitepress/',
      'docs/api/',
      'bench/node_modules/',
      'test/apm/node_modules/',
      // It imports BullMQ, which is installed when the example is run.
      'examples/bullmqWorkers/',
      'test/frameworks/versions/',
      'test/matrix/versions/',
      'test/interop/**/target/',
    ],
  },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/require-await': 'off',
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'No default exports.' },
        { selector: "MemberExpression[property.name='enterWith']", message: 'Only AsyncLocalStorage.run.' },
      ],
      eqeqeq: 'error',
      'no-console': 'error',
    },
  },
  {
    // connection/ talks to ioredis, whose replies and options are untyped in places.
    files: ['lib/connection/**/*.ts'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
  {
    files: ['test/**/*.ts', 'tools/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts', 'lib/operators/cli/**/*.ts'],
    rules: {
      'no-console': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
    },
  },
  {
    files: ['test/**/*.ts', 'tools/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts'],
    rules: {
      // chai's `expect(x).to.be.true` and bare method references of sinon's stubs
      '@typescript-eslint/no-unused-expressions': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
